// Apache's command-line tools, one after the other in one JVM, for tests: starting a JVM costs more than most of them do.
// A line of input is a class and its arguments, separated by tabs. The answer is a line with the exit code and the number
// of bytes that the tool printed, to either stream, and those bytes.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

public class ToolShell {
    // An Error, because tools catch Exceptions, and report them as failures of their own.
    private static final class Exited extends Error {
        private final int code;

        Exited(int code) {
            this.code = code;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Exit.setExitProcedure((code, message) -> {
            throw new Exited(code);
        });
        PrintStream out = System.out;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream captured = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(captured);
            System.setErr(captured);
            int code = run(line.split("\t", -1), captured);
            captured.flush();
            byte[] bytes = printed.toByteArray();
            out.println(code + " " + bytes.length);
            out.write(bytes, 0, bytes.length);
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static int run(String[] words, PrintStream captured) throws Exception {
        Object rest = Arrays.copyOfRange(words, 1, words.length);
        try {
            Class.forName(words[0]).getMethod("main", String[].class).invoke(null, rest);
            return 0;
        } catch (InvocationTargetException thrown) {
            if (thrown.getCause() instanceof Exited) {
                return ((Exited) thrown.getCause()).code;
            }
            thrown.getCause().printStackTrace(captured);
            return 1;
        }
    }
}
