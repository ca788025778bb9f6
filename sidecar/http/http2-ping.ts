import type { Http2Session } from 'node:http2'

const asked = new WeakMap<Http2Session, Promise<boolean>>()

/**
 * Pings the peer of an HTTP/2 session. Resolves with true once the peer answers, and with false after `timeoutMs` or
 * when the session has ended. Concurrent calls share one ping. Never rejects.
 */
export function answersPing(session: Http2Session, timeoutMs: number): Promise<boolean> {
  const known = asked.get(session)
  if (known !== undefined) return known
  const answer = ping(session, timeoutMs).finally(() => asked.delete(session))
  asked.set(session, answer)
  return answer
}

function ping(session: Http2Session, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timeoutMs)
    const settle = (error: Error | null): void => {
      clearTimeout(timer)
      resolve(error === null)
    }
    try {
      if (!session.ping(settle)) settle(new Error('the ping was not sent'))
    } catch (error) {
      settle(error instanceof Error ? error : new Error(String(error)))
    }
  })
}
