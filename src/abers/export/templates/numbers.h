
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read so many doubles; NULL if a file has fewer. */
static inline double *@name@_numbers(const char *path, size_t count) {
  FILE *file = fopen(path, "rb");
  double *numbers = (double *)malloc(count * sizeof(double));
  size_t n = 0;
  unsigned char bytes[8]; /* of a double, the least first */
  while (file && numbers && n < count && fread(bytes, 1, 8, file) == 8) {
    uint64_t bits = 0;
    for (int k = 7; k >= 0; --k) bits = bits << 8 | bytes[k];
    memcpy(&numbers[n++], &bits, sizeof bits);
  }
  if (file) fclose(file);
  if (n == count) return numbers;
  free(numbers);
  return NULL;
}
