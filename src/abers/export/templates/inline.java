
    private static byte[] bytes() {
        return Base64.getDecoder().decode(String.join("", DATA));
    }

    // Columns of doubles: start, lower, upper, probability. In pieces, since a constant
    // has at most 65535 bytes.
    private static final String[] DATA = {
@rows@
    };
