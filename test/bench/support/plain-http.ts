import type { Socket } from 'node:net'
import { openSocket } from '../../support/tunnel.ts'

export type PlainAnswer = { readonly status: number; readonly body: string }

/** One keep-alive connection to a plain HTTP server: one request after the other. */
export type PlainClient = {
  send(request: Buffer | string): Promise<PlainAnswer>
  close(): void
}

export async function openPlainClient(port: number): Promise<PlainClient> {
  return clientOn(await openSocket(port))
}

/** The same on a connection that is open already, perhaps with TLS. */
export function clientOn(socket: Socket): PlainClient {
  let waiting: PromiseWithResolvers<PlainAnswer> | null = null
  let buffered = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    buffered += chunk
    const answer = takeAnswer(buffered)
    if (answer === null) return
    buffered = buffered.slice(answer.length)
    waiting?.resolve(answer)
    waiting = null
  })
  const fail = () => waiting?.reject(new Error('the connection was closed'))
  socket.on('error', fail)
  socket.on('close', fail)
  return {
    send(request) {
      waiting = Promise.withResolvers<PlainAnswer>()
      socket.write(request)
      return waiting.promise
    },
    close: () => socket.destroy(),
  }
}

/** Null while incomplete. Only answers with Content-Length: all that are measured have one. */
function takeAnswer(text: string): (PlainAnswer & { readonly length: number }) | null {
  const head = text.indexOf('\r\n\r\n')
  if (head === -1) return null
  const bytes = Number(/content-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? Number.NaN)
  const length = head + 4 + bytes
  if (Number.isNaN(bytes)) throw new Error(`an answer without Content-Length: ${text.slice(0, 300)}`)
  return text.length < length
    ? null
    : { status: Number(text.slice(9, 12)), body: text.slice(head + 4, length), length }
}

export function postRequest(path: string, body: unknown, bearer?: string): string {
  const text = JSON.stringify(body)
  const authorization = bearer === undefined ? '' : `Authorization: Bearer ${bearer}\r\n`
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}Content-Type: application/json\r\n` +
    `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  )
}

/** Sends all of these over `connections` in closed loop; `onAnswer` gets each answer with the index of its request. */
export async function sendAll(
  port: number,
  connections: number,
  { requests, onAnswer }: { requests: readonly string[]; onAnswer: (a: PlainAnswer, index: number) => void },
): Promise<void> {
  const clients = await Promise.all(Array.from({ length: connections }, () => openPlainClient(port)))
  let next = 0
  try {
    await Promise.all(
      clients.map(async (client) => {
        for (let index = next++; index < requests.length; index = next++) {
          onAnswer(await client.send(requests[index] ?? ''), index)
        }
      }),
    )
  } finally {
    for (const client of clients) client.close()
  }
}
