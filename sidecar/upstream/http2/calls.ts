import type { AnswerReceiver } from '../answer-receiver.ts'
import type { Dialer } from '../dial.ts'
import type { WireRequest } from '../http1/connection.ts'
import type { UpstreamTarget } from '../target.ts'
import { UpstreamCall } from './call.ts'
import { callFields } from './call-fields.ts'
import { createSessions } from './sessions.ts'

export type Calls = {
  /** Sends one request over HTTP/2. The receiver gets every outcome. */
  start(target: UpstreamTarget, request: WireRequest, receiver: AnswerReceiver): void
  /** Aborts all calls in progress. */
  close(): void
}

export function createCalls(dialer: Dialer): Calls {
  const sessions = createSessions(dialer)

  async function send(target: UpstreamTarget, request: WireRequest, receiver: AnswerReceiver): Promise<void> {
    const { body } = request
    const fields = callFields(request, target)
    const opened = await sessions.begin(target, {
      fields,
      hasBody: body !== null,
      isOver: () => receiver.isOver,
    })
    const call = new UpstreamCall(opened, receiver)
    if (receiver.isOver) {
      call.abort(new DOMException('the exchange was ended', 'AbortError'))
      return
    }
    receiver.startsOn(call)
    call.send(request)
  }

  return {
    start(target, request, receiver) {
      send(target, request, receiver).catch((error: Error) => receiver.error(error))
    },
    close: () => sessions.close(),
  }
}
