/** The tested clients, in the order of the documentation. */
export type ClientRow = {
  /** Name in the documentation. */
  readonly client: string
  /** The variable of the injector that it reads; none where it needs no certificate. */
  readonly trusts: string
  readonly resolver: 'C library' | 'its own'
  /** Programs that its test requires. */
  readonly needs: readonly string[]
}

export const CLIENT_ROWS = {
  nodeFetch: row('Node `fetch`', '`NODE_EXTRA_CA_CERTS`', 'C library', []),
  nodeHttps: row('Node `https`', '`NODE_EXTRA_CA_CERTS`', 'C library', []),
  nodeHttp2: row('Node `http2`', '`NODE_EXTRA_CA_CERTS`', 'C library', []),
  requests: row('Python `requests`', '`REQUESTS_CA_BUNDLE`', 'C library', ['/usr/bin/python3']),
  httpx: row('Python `httpx`', '`SSL_CERT_FILE`', 'C library', ['/usr/bin/python3']),
  urllib: row('Python `urllib`', '`SSL_CERT_FILE`', 'C library', ['/usr/bin/python3']),
  aiohttp: row('Python `aiohttp`', '`SSL_CERT_FILE`', 'C library', ['/usr/bin/python3']),
  grpc: row('gRPC (Python `grpcio`)', '`GRPC_DEFAULT_SSL_ROOTS_FILE_PATH`', 'its own', ['/usr/bin/python3']),
  goPure: row('Go `net/http`, Go resolver', '`SSL_CERT_FILE`', 'its own', ['go']),
  goCgo: row('Go `net/http`, cgo', '`SSL_CERT_FILE`', 'C library', ['go', 'gcc']),
  java: row('Java `HttpClient`', '`JAVA_TOOL_OPTIONS`', 'C library', ['java']),
  curl1: row('curl, HTTP/1.1', '`CURL_CA_BUNDLE`', 'C library', ['curl']),
  curl2: row('curl, HTTP/2', '`CURL_CA_BUNDLE`', 'C library', ['curl']),
  curl6: row('curl, IPv6', '`CURL_CA_BUNDLE`', 'C library', ['curl']),
  curlPlain: row('curl, plain HTTP', '-', 'C library', ['curl']),
  wget: row('wget', '`WGETRC`', 'C library', ['wget']),
  git: row('git over HTTPS', '`GIT_SSL_CAINFO`', 'C library', ['git']),
  glibc: row('a C program, glibc', '-', 'C library', ['gcc']),
  musl: row('a C program, musl (Alpine)', '-', 'C library', ['musl-gcc']),
} as const satisfies Record<string, ClientRow>
export type ClientName = keyof typeof CLIENT_ROWS

function row(
  client: string,
  trusts: string,
  resolver: ClientRow['resolver'],
  needs: readonly string[],
): ClientRow {
  return { client, trusts, resolver, needs }
}

const START = '<!-- clients: written by test/capture/clients/clients.test.ts -->'
const END = '<!-- clients: end -->'

/** Returns the page with its table replaced by the results. Throws when the page has no table. */
export function withTable(page: string, found: ReadonlyMap<ClientName, string>): string {
  const [before, rest] = page.split(START)
  const [, after] = rest?.split(END) ?? []
  if (before === undefined || after === undefined) throw new Error(`the page has no ${START} … ${END}`)
  const lines = (Object.keys(CLIENT_ROWS) as ClientName[]).map((name) => {
    const { client, trusts, resolver } = CLIENT_ROWS[name]
    return `| ${client} | ${resolver} | ${trusts} | ${found.get(name) ?? 'not tried'} |`
  })
  const table = ['| Client | Resolver | Trusts us by | Arrives |', '|---|---|---|---|', ...lines]
  return `${before}${START}\n${table.join('\n')}\n${END}${after}`
}
