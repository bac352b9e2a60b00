
    /** Columns of doubles: start, lower, upper, probability. */
    private static byte[] bytes() {
        // In pieces, since a constant has at most 65535 bytes.
        String[] pieces = {
@rows@
        };
        return Base64.getDecoder().decode(String.join("", pieces));
    }
