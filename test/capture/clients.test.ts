import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noNamespaces } from './network.ts'
import { AGENT_UID, type GovernedPod, HOST, SECRET, startGovernedPod, trustVariables } from './sidecar.ts'

const reason = noNamespaces()

const NODE_FETCH = `fetch('https://${HOST}/x').then(async r=>console.log(r.status,await r.text())).catch(e=>{console.error(e);process.exit(1)})`
const NODE_HTTPS = `require('https').get('https://${HOST}/x',r=>{r.resume();console.log(r.statusCode)}).on('error',e=>{console.error(e);process.exit(1)})`
const NODE_HTTP2 = `const c=require('http2').connect('https://${HOST}');c.on('error',e=>{console.error(e);process.exit(1)});const s=c.request({':path':'/x'});s.on('response',h=>{console.log(h[':status']);c.close()});s.end()`
const URLLIB = `import urllib.request;print(urllib.request.urlopen('https://${HOST}/x').status)`
const REQUESTS = `import requests;print(requests.get('https://${HOST}/x').status_code)`
const GO = `package main
import ("fmt";"net/http";"os")
func main(){r,e:=http.Get("https://${HOST}/x");if e!=nil{fmt.Println(e);os.Exit(1)};fmt.Println(r.StatusCode,r.Proto)}`
const JAVA = `import java.net.URI;import java.net.http.*;
public class Client{public static void main(String[] a)throws Exception{
System.out.println(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("https://${HOST}/x")).build(),HttpResponse.BodyHandlers.ofString()).statusCode());}}`

describe.skipIf(reason !== null)(
  `clients that know of no proxy${reason === null ? '' : ` (skipped: ${reason})`}`,
  () => {
    let pod: GovernedPod
    beforeAll(async () => {
      pod = await startGovernedPod()
    })
    afterAll(async () => {
      expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
      await pod[Symbol.asyncDispose]()
    })

    const reaches = async (argv: readonly string[], env: Record<string, string> = {}): Promise<void> => {
      const before = pod.upstream.seen.length
      const ran = await pod.network.exec(argv, {
        uid: AGENT_UID,
        env: { ...trustVariables(pod.trustDir), ...env },
        timeoutMs: 60_000,
      })
      expect(ran.stdout, ran.stderr).toMatch(/200/)
      expect(pod.upstream.seen.slice(before).map((seen) => seen.header('authorization'))).toEqual([
        `Bearer ${SECRET}`,
      ])
    }

    test.each([
      ['fetch of Node', [process.execPath, '-e', NODE_FETCH]],
      ['https of Node', [process.execPath, '-e', NODE_HTTPS]],
      ['http2 of Node', [process.execPath, '-e', NODE_HTTP2]],
      ['curl over HTTP/1.1', curl('--http1.1', `https://${HOST}/x`)],
      ['curl over HTTP/2', curl('--http2', `https://${HOST}/x`)],
      ['curl over IPv6', curl('-6', `https://${HOST}/x`)],
      ['curl over IPv4', curl('-4', `https://${HOST}/x`)],
      ['curl over plain HTTP, which leaves as TLS', curl(`http://${HOST}/x`)],
      ['urllib of Python', ['/usr/bin/python3', '-c', URLLIB]],
    ])('%s reaches the upstream with the injected credential', async (_name, argv) => {
      await reaches(argv)
    })

    test.skipIf(!existsSync('/usr/bin/wget'))(
      'wget reaches the upstream by its own file of settings',
      async () => {
        const command = `wget -S -O /dev/null https://${HOST}/x 2>&1`
        await reaches(['sh', '-c', command], { WGETRC: join(pod.trustDir, 'wgetrc') })
      },
    )

    test.skipIf(pythonPackages() === null)('requests of Python reaches the upstream', async () => {
      const packages = join(pod.dir, 'python')
      for (const name of ['requests', 'urllib3', 'idna', 'certifi', 'charset_normalizer'])
        cpSync(join(pythonPackages() ?? '', name), join(packages, name), { recursive: true })
      await reaches(['/usr/bin/python3', '-c', REQUESTS], { PYTHONPATH: packages })
    })

    test.skipIf(!has('go'))(
      'net/http of Go, with its own resolver and with that of the C library',
      async () => {
        const dir = join(pod.dir, 'go')
        mkdirSync(dir)
        writeFileSync(join(dir, 'main.go'), GO)
        execFileSync('go', ['build', '-o', join(dir, 'client'), join(dir, 'main.go')], {
          env: { ...process.env },
        })
        chmodSync(join(dir, 'client'), 0o755)
        await reaches([join(dir, 'client')], { GODEBUG: 'netdns=go' })
        await reaches([join(dir, 'client')], { GODEBUG: 'netdns=cgo' })
      },
    )

    test.skipIf(!has('java'))('HttpClient of Java, by the trust store that the sidecar wrote', async () => {
      const file = join(pod.dir, 'Client.java')
      writeFileSync(file, JAVA)
      const store = `-Djavax.net.ssl.trustStore=${join(pod.trustDir, 'truststore.p12')}`
      const options = [
        store,
        '-Djavax.net.ssl.trustStoreType=PKCS12',
        '-Djavax.net.ssl.trustStorePassword=changeit',
      ]
      await reaches(['java', file], { JAVA_TOOL_OPTIONS: options.join(' ') })
    })
  },
)

function curl(...args: string[]): readonly string[] {
  return ['curl', '-sS', '-m', '10', '-o', '/dev/null', '-w', '%{http_code}', ...args]
}

function has(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((dir) => existsSync(join(dir, program)))
}

/** Where requests is installed for whoever runs the tests; the agent's user may not read that. */
function pythonPackages(): string | null {
  try {
    const code = 'import requests,os;print(os.path.dirname(os.path.dirname(requests.__file__)))'
    return execFileSync('python3', ['-c', code], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch (error) {
    if (error instanceof Error) return null
    throw error
  }
}
