import type { FastifyReply } from 'fastify'
import { ChaperoneError } from '../../../../core/errors.ts'
import { CommandBody, CommandReply } from '../../../../core/wire/gateway/commands.ts'
import { greetingOf } from '../../../../core/wire/gateway/greeting.ts'
import type { HandlesBody, HandlesReply } from '../../../../core/wire/gateway/handles.ts'
import { KillSwitchSet } from '../../../../core/wire/gateway/internal.ts'
import { QuotaLeaseBody, QuotaLeaseReply } from '../../../../core/wire/gateway/quota-lease.ts'
import { RecordsBody, RecordsReply } from '../../../../core/wire/gateway/records.ts'
import {
  AckBody,
  ResultBody,
  SectionParams,
  SectionQuery,
  StatusBody,
  SYNC_PATHS,
} from '../../../../core/wire/gateway/sync.ts'
import { Ok } from '../../../../core/wire/schema/fields.ts'
import type { GatewayCa } from '../../../crypto/gateway-ca.ts'
import { refuseRestricted } from '../../../http/auth/restriction.ts'
import { type Principal, type Route, route } from '../../../http/route.ts'
import type { Hub } from '../../../sync/hub.ts'
import type { SectionLibrary } from '../../../sync/sections/library.ts'
import type { Approvals } from '../../approvals/service.ts'
import type { Commands } from '../../commands/service.ts'
import type { NarrowedTokens } from '../../credentials/minting/narrowing/narrowed-tokens.ts'
import type { Credentials } from '../../credentials/service.ts'
import { assertOwn } from '../../pods/assert-own-agents.ts'
import type { Records } from '../../traffic/ingest.ts'
import type { IngestQuota } from '../../traffic/ingest-quota.ts'
import type { OwnProcesses } from '../service.ts'
import { certificate } from './certificate-routes.ts'
import { credentials, narrowedToken } from './credential-routes.ts'
import { handles } from './handle-routes.ts'
import { holds } from './hold-routes.ts'
import { type GatewayPrincipal, gatewayOf } from './principal.ts'
import type { Borrower } from './quota-lease-store.ts'

export type GatewayRoutesDeps = {
  readonly hub: Hub
  readonly library: SectionLibrary
  readonly approvals: Approvals
  readonly records: Records
  readonly ownProcesses: OwnProcesses
  readonly ingestQuota: IngestQuota
  readonly commands: Commands
  readonly credentials: Pick<Credentials, 'refused'>
  readonly narrowedTokens: Pick<NarrowedTokens, 'get'>
  readonly gatewayCa: GatewayCa
  readonly handleOwners: (asked: HandlesBody) => Promise<HandlesReply>
  readonly leaseSlots: (borrower: Borrower, asked: QuotaLeaseBody) => Promise<QuotaLeaseReply>
  /**
   * Returns the key that signs messages to the gateway: the SHA-256 of `sync:` followed by the gateway's token.
   * Returns undefined when the gateway does not exist.
   */
  readonly syncKeyOf: (gatewayId: string) => Promise<Uint8Array | undefined>
}

const RECORDS_LIMIT_BYTES = 16 * 1024 * 1024
const RESULT_LIMIT_BYTES = 12 * 1024 * 1024

/** Returns the routes that gateways call. `core/wire/gateway/sync.ts` specifies these routes. */
export function createGatewayRoutes(deps: GatewayRoutesDeps): readonly Route[] {
  return [
    stream(deps),
    section(deps),
    ...reports(deps),
    ...holds(deps),
    records(deps),
    commands(deps),
    certificate(deps),
    slots(deps),
    handles(deps),
    credentials(deps),
    narrowedToken(deps),
  ]
}

function stream({ hub, syncKeyOf }: GatewayRoutesDeps): Route {
  return route({
    method: 'GET',
    path: SYNC_PATHS.stream,
    auth: 'gateway',
    summary:
      'Streams configuration versions, kill switches, answers and orders to a gateway process, one JSON object per line',
    produces: 'application/x-ndjson',
    handler: async ({ principal, raw }) => {
      const owner = gatewayOf(principal)
      const { sidecar } = owner
      const syncKey = sidecar === null ? await syncKeyOf(owner.gatewayId) : sidecar.syncKey
      if (syncKey === undefined) throw gone(owner)
      const sink = takeOver(raw.reply)
      const greeting = greetingOf(raw.request.headers)
      const closed = hub.open({ ...owner, agent: sidecar?.agent.name ?? null, syncKey, greeting }, sink)
      // When the stream was closed before the listener was added, no close event follows.
      if (sink.destroyed) closed()
      else sink.once('close', closed)
      return undefined
    },
  })
}

/**
 * Sends the head of the response at once and returns the raw response. The caller writes lines of JSON to the raw
 * response until the stream closes.
 */
function takeOver(reply: FastifyReply): FastifyReply['raw'] {
  reply.hijack()
  const { raw } = reply
  raw.on('error', () => raw.destroy())
  raw.socket?.setNoDelay(true)
  raw.setTimeout(0)
  raw.writeHead(200, { 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' })
  raw.flushHeaders()
  return raw
}

function section({ hub, library }: GatewayRoutesDeps): Route {
  return route({
    method: 'GET',
    path: `${SYNC_PATHS.sections}/:name`,
    auth: 'gateway',
    summary:
      'Returns one part (section) of the configuration; 404 when it has changed and no longer has this hash',
    params: SectionParams,
    query: SectionQuery,
    handler: async ({ principal, params, query, raw }) => {
      const { gatewayId, sidecar } = gatewayOf(principal)
      const receiver = {
        agent: sidecar?.agent.name ?? null,
        protocol: greetingOf(raw.request.headers).protocol,
      }
      await hub.admission.settled()
      await library.prepare(gatewayId, receiver)
      const set = library.of(gatewayId, receiver)
      const text = set?.texts.get(params.name)
      if (text === undefined || set?.hashes[params.name] !== query.hash) {
        throw new ChaperoneError('not_found', {
          detail: `The part ${params.name} of the configuration has changed and no longer has this hash. Wait until the control plane announces the new hashes.`,
        })
      }
      raw.reply.header('content-type', 'application/json').send(text)
      return undefined
    },
  })
}

function reports({ hub }: GatewayRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: SYNC_PATHS.ack,
      auth: 'gateway',
      admits: ['unchecked'],
      summary: 'Acknowledges a version that was applied or refused, or a kill switch that took effect',
      body: AckBody,
      response: Ok,
      handler: async ({ principal, body }) => {
        await hub.publish({ ...messageOf(principal), kind: 'ack', body })
        return { ok: true as const }
      },
    }),
    route({
      method: 'POST',
      path: SYNC_PATHS.status,
      auth: 'gateway',
      summary: 'Reports the state of a gateway process',
      body: StatusBody,
      response: Ok,
      handler: async ({ principal, body }) => {
        hub.seen(gatewayOf(principal))
        await hub.publish({ ...messageOf(principal), kind: 'status', body })
        return { ok: true as const }
      },
    }),
    route({
      method: 'POST',
      path: SYNC_PATHS.results,
      auth: 'gateway',
      summary: 'Reports the result of an order to execute an action',
      body: ResultBody,
      bodyLimit: RESULT_LIMIT_BYTES,
      response: Ok,
      handler: async ({ principal, body }) => {
        hub.settle(body, gatewayOf(principal).processId)
        return { ok: true as const }
      },
    }),
  ]
}

function messageOf(principal: Principal) {
  const { processId, gatewayId } = gatewayOf(principal)
  return { process_id: processId, gateway_id: gatewayId }
}

function records({ records: service, ingestQuota, ownProcesses }: GatewayRoutesDeps): Route {
  return route({
    method: 'POST',
    path: SYNC_PATHS.records,
    auth: 'gateway',
    summary: 'Stores a batch of records. Returns the ids that are stored, by this request or before',
    body: RecordsBody,
    bodyLimit: RECORDS_LIMIT_BYTES,
    response: RecordsReply,
    statuses: [429],
    handler: async ({ principal, body }) => {
      const owner = gatewayOf(principal)
      const cost = body.records.length + body.lost.length
      ingestQuota.take({ name: owner.name, agent: owner.sidecar?.agent.name ?? null }, cost)
      const agents = body.records.map(({ agent }) => agent)
      assertOwn(owner.sidecar, agents)
      const stated = body.lost.filter(({ reason }) => reason === undefined)
      const sources = [...body.records, ...stated].map(({ process_id }) => process_id)
      await ownProcesses(owner, sources)
      return { accepted: await service.ingest(owner, body) }
    },
  })
}

function commands({ commands: run }: GatewayRoutesDeps): Route {
  return route({
    method: 'POST',
    path: SYNC_PATHS.commands,
    auth: 'gateway',
    admits: ['unchecked'],
    summary: "Executes a command of a gateway's internal API and returns the reply for its caller",
    body: CommandBody,
    response: CommandReply,
    handler: async ({ principal, body }) => {
      const owner = gatewayOf(principal)
      if (owner.sidecar !== null) return { status: 200, body: NOT_IN_A_POD }
      if (!isStop(body)) refuseRestricted(principal)
      // The reply of the command is wrapped in a body, because the route would otherwise use the members `status` and
      // `body` of the reply as its own status and body.
      return { status: 200, body: await run(owner, body) }
    },
  })
}

function isStop(body: CommandBody): boolean {
  return body.command === 'kill-switch' && KillSwitchSet.safeParse(body.input).data?.active === true
}

/**
 * Reply to commands from a sidecar. A sidecar runs in the pod of a tenant, so it may not run commands for its
 * Gateway; users send such commands to the control plane.
 */
const NOT_IN_A_POD = {
  status: 403,
  body: {
    error: 'Forbidden',
    message:
      'A sidecar may not send commands. Use kubectl, the dashboard or the command line of the control plane.',
  },
} satisfies CommandReply

function slots({ leaseSlots }: GatewayRoutesDeps): Route {
  return route({
    method: 'POST',
    path: SYNC_PATHS.slots,
    auth: 'gateway',
    summary: 'Grants a quota lease: the number of requests of an agent that the process may admit',
    body: QuotaLeaseBody,
    response: QuotaLeaseReply,
    handler: async ({ principal, body }) => {
      const { gatewayId, processId, sidecar } = gatewayOf(principal)
      assertOwn(sidecar, [body.agent])
      return leaseSlots({ gatewayId, processId }, body)
    },
  })
}

function gone({ name }: GatewayPrincipal): ChaperoneError {
  return new ChaperoneError('not_found', {
    detail: `The gateway ${name} is no longer configured. Create it again, or stop this process.`,
  })
}
