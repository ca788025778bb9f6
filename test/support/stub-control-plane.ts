import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  ChangeSetBody,
  type GatewayProcess,
  OPERATOR_PATHS,
  type PushReply,
} from '../../core/wire/operator/operator.ts'

/** In-memory stub of the control plane's API for the operator. It accepts every object and answers long polls. */
export type StubControlPlane = AsyncDisposable & {
  readonly url: string
  /** `METHOD path` of every received call, without the query. */
  readonly calls: readonly string[]
  /** Answers the pending long polls with these gateway processes. */
  setProcesses(processes: readonly GatewayProcess[]): void
}

export async function startStubControlPlane(): Promise<StubControlPlane> {
  const calls: string[] = []
  const waiting = new Set<ServerResponse>()
  let revision = 1
  let processes: readonly GatewayProcess[] = []
  const state = () => ({ version: 1, revision: `${revision}`, kills: [], processes, refused_pods: [] })
  const answer = (response: ServerResponse, body: unknown) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://stub')
    calls.push(`${request.method} ${pathname}`)
    const body = await text(request)
    switch (pathname) {
      case OPERATOR_PATHS.state:
        if (searchParams.get('known') === `${revision}`) waiting.add(response)
        else answer(response, state())
        return
      case OPERATOR_PATHS.changes: {
        const { objects } = ChangeSetBody.parse(JSON.parse(body))
        const replies = objects.map(({ resource: { metadata } }) => replyTo(`${metadata.namespace}`))
        return answer(response, { removed: 0, missing: [], replies })
      }
      case OPERATOR_PATHS.sweep:
        return answer(response, { removed: 0, missing: [] })
      case OPERATOR_PATHS.namespaces:
        return answer(response, { rebound: false })
      case OPERATOR_PATHS.kill:
        return answer(response, {
          ...{ applied: true, effective: [], acknowledged: { acked: 0, total: 0, ms: 0 } },
        })
      default:
        return answer(response, { ok: true, pods: [] })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    setProcesses(next) {
      processes = next
      revision += 1
      for (const response of waiting) answer(response, state())
      waiting.clear()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function replyTo(namespace: string): PushReply {
  return {
    ...{ accepted: true, reasons: [], problem: null, in_force: 'as_written', warnings: [], version: 1 },
    ...{ gateways: [`${namespace}/main`], tests: null, acknowledged: { acked: 0, total: 0 } },
  }
}
