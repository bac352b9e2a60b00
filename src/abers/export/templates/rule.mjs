// A Venn-Abers rule of @size@ steps, made by abers.
//
//     import { read } from "./@name@.mjs";
//     const { lower, upper, probability } = read(score);
//
// All three are NaN if the score is.

const SIZE = @size@;
let steps = null;

/** The answer to a score: both bounds, and the two merged to one probability. */
export function read(score) {
  if (typeof score !== "number") {
    throw new TypeError(`a score must be a number; got ${typeof score}.`);
  }
  if (steps === null) {
    throw new Error("the steps must be loaded first: load(bytes of @name@.bin).");
  }
  if (Number.isNaN(score)) {
    return { lower: NaN, upper: NaN, probability: NaN };
  }
  // The last step whose start is not above the score; the first starts at -Infinity.
  let step = 0;
  for (let rest = SIZE; rest > 1; ) {
    const half = rest >> 1;
    if (steps[step + half] <= score) {
      step += half;
    }
    rest -= half;
  }
  return {
    lower: steps[SIZE + step],
    upper: steps[2 * SIZE + step],
    probability: steps[3 * SIZE + step],
  };
}

@export@function load(buffer) {
  const view = new DataView(buffer);
  if (view.byteLength !== 32 * SIZE) {
    throw new Error(`the steps must have ${32 * SIZE} bytes; got ${view.byteLength}.`);
  }
  steps = Float64Array.from({ length: 4 * SIZE }, (_, k) => view.getFloat64(8 * k, true));
}
@data@
