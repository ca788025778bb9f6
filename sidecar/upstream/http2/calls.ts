import type { Dialer } from '../dial.ts'
import type { WireRequest } from '../http1/connection.ts'
import type { Relay } from '../relay.ts'
import type { UpstreamTarget } from '../target.ts'
import { UpstreamCall } from './call.ts'
import { callFields } from './call-fields.ts'
import { createSessions } from './sessions.ts'

export type Calls = {
  /** Sends one request over HTTP/2. The relay receives every outcome. */
  start(target: UpstreamTarget, request: WireRequest, relay: Relay): void
  /** Aborts all calls in progress. */
  close(): void
}

export function createCalls(dialer: Dialer): Calls {
  const sessions = createSessions(dialer)

  async function send(target: UpstreamTarget, request: WireRequest, relay: Relay): Promise<void> {
    const { body } = request
    const fields = callFields(request, target)
    const opened = await sessions.begin(target, {
      fields,
      hasBody: body !== null,
      isOver: () => relay.isOver,
    })
    const call = new UpstreamCall(opened, relay)
    if (relay.isOver) {
      call.abort(new DOMException('the exchange was ended', 'AbortError'))
      return
    }
    relay.startsOn(call)
    call.send(request)
  }

  return {
    start(target, request, relay) {
      send(target, request, relay).catch((error: Error) => relay.error(error))
    },
    close: () => sessions.close(),
  }
}
