
    /** The stacked rule: lower, upper and probability, mixed with model and curve. */
    public static double[] stacked(double score) {
        if (!(@least@ <= score && score <= @greatest@)) {
            return new double[] {Double.NaN, Double.NaN, Double.NaN};
        }
        double fixed = @fixed@;
        int step = step(score);
        double[] answer = new double[3];
        for (int k = 0; k < 3; ++k) {
            answer[k] = Math.min(@weight@ * STEPS[(k + 1) * SIZE + step] + fixed, 1.0);
        }
        return answer;
    }
