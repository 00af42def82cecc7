import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Locks a file as Apache's broker locks a log directory, says whether it could, and holds it until its input ends. */
public class Locker {
    public static void main(String[] arguments) throws Exception {
        var channel = FileChannel.open(Path.of(arguments[0]), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock = channel.tryLock();
        System.out.println(lock == null ? "refused" : "locked");
        System.in.read();
    }
}
