
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The steps are in @name@.bin: load them once, before any thread reads. Until then
 * every answer is NaN. Each file that includes this one has steps of its own. */
static size_t @name@_size = 0;
static double *@name@_start, *@name@_lower, *@name@_upper, *@name@_probability;

/* Read @name@.bin; 0 if all went well. */
static inline int @name@_load(const char *path) {
  const size_t size = @size@;
  FILE *file = fopen(path, "rb");
  double *columns = (double *)malloc(4 * size * sizeof(double));
  size_t n = 0;
  unsigned char bytes[8]; /* of a double, the least first */
  while (file && columns && n < 4 * size && fread(bytes, 1, 8, file) == 8) {
    uint64_t bits = 0;
    for (int k = 7; k >= 0; --k) bits = bits << 8 | bytes[k];
    memcpy(&columns[n++], &bits, sizeof bits);
  }
  if (file) fclose(file);
  if (n < 4 * size) {
    free(columns);
    return -1;
  }
  @name@_start = columns;
  @name@_lower = columns + size;
  @name@_upper = columns + 2 * size;
  @name@_probability = columns + 3 * size;
  @name@_size = size;
  return 0;
}
