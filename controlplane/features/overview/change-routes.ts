import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ChangeKind, ChangesReply } from '../../../core/wire/overview.ts'
import { type Route, route } from '../../http/route.ts'
import type { ChangeListener, Changes } from './changes.ts'

/**
 * Milliseconds between two comment lines of an event stream. The lines detect a disconnected client and keep proxies
 * from closing an idle connection.
 */
const BEAT_MS = 15_000
/**
 * Maximum duration of an event stream in milliseconds. The reconnect authenticates the browser again, so that an ended
 * session loses its stream.
 */
const LIFE_MS = 120_000

/**
 * Creates the route that reports changes. A request with `Accept: text/event-stream` gets a stream of `{"kinds":
 * [...]}`; any other request gets the current version of each kind of object.
 */
export function createEventRoutes({ changes }: { readonly changes: Changes }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/events',
      auth: 'records/get',
      isNamespaced: true,
      summary:
        'Reports which kinds of objects changed, without their content. With `Accept: text/event-stream`, returns a stream of events `change` with data such as `{"kinds":["approvals"]}`; otherwise returns one version per kind, which clients can compare',
      response: ChangesReply,
      handler: async ({ namespaces, raw }) => {
        if (!wantsStream(raw.request)) return { versions: await changes.versions(namespaces) }
        stream(raw.reply, (listener) => changes.listen(namespaces, listener))
        return undefined
      },
    }),
  ]
}

function wantsStream({ headers }: FastifyRequest): boolean {
  return headers.accept?.toLowerCase().includes('text/event-stream') === true
}

function stream(reply: FastifyReply, listen: (listener: ChangeListener) => () => void): void {
  reply.hijack()
  const { raw } = reply
  raw.on('error', () => raw.destroy())
  raw.socket?.setNoDelay(true)
  raw.setTimeout(0)
  raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' })
  raw.write('retry: 1000\nevent: open\ndata: {}\n\n')
  const send = (kinds: readonly ChangeKind[]) =>
    raw.write(`event: change\ndata: ${JSON.stringify({ kinds })}\n\n`)
  const stop = listen({ onChange: send, onEnd: () => raw.end() })
  const beat = setInterval(() => raw.write(':\n\n'), BEAT_MS)
  const life = setTimeout(() => raw.end(), LIFE_MS)
  raw.once('close', () => {
    stop()
    clearInterval(beat)
    clearTimeout(life)
  })
}
