
    /** The steps are in @name@.bin, a resource beside this class. */
    private static byte[] bytes() {
        try (InputStream stream = @name@.class.getResourceAsStream("@name@.bin")) {
            if (stream == null) {
                throw new IllegalStateException("@name@.bin must lie beside the class @name@.");
            }
            return stream.readAllBytes();
        } catch (IOException cause) {
            throw new IllegalStateException("@name@.bin cannot be read.", cause);
        }
    }
