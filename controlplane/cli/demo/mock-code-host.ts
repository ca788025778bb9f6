import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

export type ReceivedRequest = {
  readonly method: string
  readonly path: string
  readonly authorization: string | null
}
export type MockCodeHost = {
  readonly url: string
  /**
   * Write requests that the server received, oldest first. Read requests are omitted, because the gateway itself
   * sends some of them (look-ups of the state that an approver sees).
   */
  readonly received: readonly ReceivedRequest[]
  close(): Promise<void>
}

/** Head commit of every pull request on the mock server. */
const HEAD_COMMIT = '5f2ce7a0b7a1f4f3a9d4c1e08c6b7d92e3f1a046'

const ANSWERS: ReadonlyArray<readonly [method: string, path: RegExp, status: number, body: unknown]> = [
  [
    'POST',
    /^\/repos\/[^/]+\/[^/]+\/issues$/,
    201,
    { number: 42, html_url: 'https://github.example/acme/site/issues/42' },
  ],
  ['GET', /^\/repos\/[^/]+\/[^/]+\/pulls\/\d+$/, 200, { head: { sha: HEAD_COMMIT }, base: { ref: 'main' } }],
  [
    'PUT',
    /^\/repos\/[^/]+\/[^/]+\/pulls\/\d+\/merge$/,
    200,
    { merged: true, message: 'Pull Request successfully merged' },
  ],
  ['DELETE', /^\/repos\/[^/]+\/[^/]+\/git\/refs\/.+$/, 204, null],
]

/** Starts a server that answers the demo's requests like the code host, and records the writes. */
export async function startMockCodeHost(): Promise<MockCodeHost> {
  const received: ReceivedRequest[] = []
  const server = createServer((request, response) => answer(request, response, received))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    received,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function answer(request: IncomingMessage, response: ServerResponse, received: ReceivedRequest[]): void {
  const { method = 'GET', url: path = '/' } = request
  if (method !== 'GET') received.push({ method, path, authorization: request.headers.authorization ?? null })
  const [, , status, body] = ANSWERS.find(([m, pattern]) => m === method && pattern.test(path)) ?? [
    '',
    /x/,
    404,
    { message: 'Not Found' },
  ]
  request.resume()
  request.on('end', () => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(body === null ? undefined : JSON.stringify(body))
  })
}
