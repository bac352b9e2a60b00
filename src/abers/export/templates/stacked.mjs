
/** The stacked rule: the answer of read, mixed with the model and its curve. */
export function stacked(score) {
  const { lower, upper, probability } = read(score);
  if (!(@least@ <= score && score <= @greatest@)) {
    return { lower: NaN, upper: NaN, probability: NaN };
  }
  const fixed = @fixed@;
  const mixed = (value) => Math.min(@weight@ * value + fixed, 1);
  return { lower: mixed(lower), upper: mixed(upper), probability: mixed(probability) };
}
