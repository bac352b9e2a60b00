@numbers@
/* The steps are in @name@.bin: load them once, before any thread reads. Until then
 * every answer is NaN. Each file that includes this one has steps of its own. */
static size_t @name@_size = 0;
static double *@name@_start, *@name@_lower, *@name@_upper, *@name@_probability;

/* Read @name@.bin; 0 if all went well. */
static inline int @name@_load(const char *path) {
  const size_t size = @size@;
  double *columns = @name@_numbers(path, 4 * size);
  if (!columns) return -1;
  @name@_start = columns;
  @name@_lower = columns + size;
  @name@_upper = columns + 2 * size;
  @name@_probability = columns + 3 * size;
  @name@_size = size;
  return 0;
}
