import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;

/**
 * A Venn-Abers rule of @size@ steps, made by abers.
 *
 * <p>All answers to NaN are NaN. Threads may share the class.
 */
public final class @name@ {
    private static final int SIZE = @size@;
    private static final double[] STEPS = new double[4 * SIZE];

    static {
        ByteBuffer.wrap(bytes()).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer().get(STEPS);
    }

    private @name@() {}

    /** The probability if the new case were a 0. */
    public static double lower(double score) {
        return value(1, score);
    }

    /** The probability if the new case were a 1. */
    public static double upper(double score) {
        return value(2, score);
    }

    /** Both bounds merged to one probability. */
    public static double probability(double score) {
        return value(3, score);
    }

    private static double value(int column, double score) {
        return Double.isNaN(score) ? Double.NaN : STEPS[column * SIZE + step(score)];
    }

    /** The last step whose start is not above the score; the first starts at -inf. */
    private static int step(double score) {
        int step = 0;
        for (int rest = SIZE; rest > 1; ) {
            int half = rest / 2;
            if (STEPS[step + half] <= score) {
                step += half;
            }
            rest -= half;
        }
        return step;
    }
@data@}
