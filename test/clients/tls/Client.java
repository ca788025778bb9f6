import java.io.FileInputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.*;

/** Connects to each case over TLS and prints `HOST ok` or `HOST refused ERROR`; the cases are "HOST PORT" lines. */
public class Client {
  public static void main(String[] args) throws Exception {
    KeyStore roots = KeyStore.getInstance(KeyStore.getDefaultType());
    roots.load(null, null);
    var factory = CertificateFactory.getInstance("X.509");
    roots.setCertificateEntry("root", factory.generateCertificate(new FileInputStream(args[1])));
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(roots);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      String host = line.split(" ")[0];
      Socket raw = new Socket("127.0.0.1", Integer.parseInt(line.split(" ")[1]));
      try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(raw, host, 443, true)) {
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        System.out.println(host + " ok");
      } catch (Exception error) {
        System.out.println(host + " refused " + error.getMessage());
      }
    }
  }
}
