import { request as httpRequest } from 'node:http'
import { HEADERS } from '../../core/wire/schema/limits.ts'
import type { FakeControlPlane } from '../sidecar/control/fake-control-plane.ts'
import { PROXY_AUTHORIZATION, UPSTREAM_HOST } from '../sidecar/gateway/gateway-world.ts'
import { eventually } from '../support/eventually.ts'
import { seeded } from '../support/proof.ts'

/** An answer of the gateway. Each path is sent once. */
export type Answer = { readonly path: string; readonly status: number; readonly recordId: string | null }

/** Agents that send reads, writes, denied and held requests, one after the other, until `stop`. */
export type Load = {
  readonly answers: readonly Answer[]
  /** Resolves when so many more requests were forwarded and answered with 200. */
  served(more: number): Promise<void>
  /** Lets the requests in flight end and sends no more until `resume`. */
  pause(): Promise<void>
  resume(): void
  stop(): Promise<void>
}

const CLIENTS = 6
const METHODS = ['GET', 'GET', 'GET', 'POST', 'POST', 'DELETE', 'PUT'] as const
const KIND = { GET: 'read', POST: 'write', DELETE: 'denied', PUT: 'held' } as const

export function startLoad(port: () => number): Load {
  const random = seeded(7)
  const answers: Answer[] = []
  let isOver = false
  let running: Promise<unknown> = Promise.resolve()
  let sent = 0

  async function client(): Promise<void> {
    while (!isOver) {
      const method = METHODS[Math.floor(random() * METHODS.length)] ?? 'GET'
      const path = `/${KIND[method]}/${sent++}`
      const answer = await send(port(), method, path)
      if (answer !== null) answers.push(answer)
      // The gateway refuses connections while it is stopped.
      else await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  const countOf = () => answers.filter(({ status }) => status === 200).length
  const resume = () => {
    isOver = false
    running = Promise.all(Array.from({ length: CLIENTS }, client))
  }
  const pause = async () => {
    isOver = true
    await running
  }
  return {
    answers,
    async served(more) {
      const wanted = countOf() + more
      await eventually('served requests', () => (countOf() >= wanted ? true : null))
    },
    ...{ pause, resume, stop: pause },
  }
}

const TIMEOUT_MS = 20_000

/** Resolves with the answer; null when the connection failed or the gateway gave no whole answer. */
function send(port: number, method: string, path: string): Promise<Answer | null> {
  return new Promise((resolve) => {
    const headers = { host: UPSTREAM_HOST, 'proxy-authorization': PROXY_AUTHORIZATION }
    const target = `http://${UPSTREAM_HOST}${path}`
    const options = { host: '127.0.0.1', port, agent: false, method, path: target, headers }
    const request = httpRequest({ ...options, timeout: TIMEOUT_MS }, (response) => {
      const id = response.headers[HEADERS.recordId.toLowerCase()]
      const recordId = typeof id === 'string' ? id : null
      response.resume()
      response.once('error', () => resolve(null))
      response.once('end', () => resolve({ path, status: response.statusCode ?? 0, recordId }))
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(null))
    request.end()
  })
}

/** Approves every second hold and denies the others. */
export function approveAndDeny(fake: FakeControlPlane): NodeJS.Timeout {
  let answered = 0
  return setInterval(() => {
    for (const { id } of fake.pendingHolds()) fake.respond(id, answered++ % 2 === 0 ? 'approved' : 'denied')
  }, 20)
}
