@numbers@
/* The tables are in @name@.bin: load them once, before any thread reads. Until then
 * every answer is NaN. Each file that includes this one has tables of its own. */
static double *@name@_data = NULL;

/* Read @name@.bin; 0 if all went well. */
static inline int @name@_load(const char *path) {
  @name@_data = @name@_numbers(path, @count@);
  return @name@_data ? 0 : -1;
}
