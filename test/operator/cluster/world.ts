import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import type { AdmissionComponent } from '../../../operator/cluster/admission.ts'
import {
  type ClusterOperator,
  type ClusterTiming,
  createClusterOperator,
} from '../../../operator/cluster/cluster-operator.ts'
import type { ClusterConfig } from '../../../operator/config.ts'
import {
  type World as ControlPlaneWorld,
  type Enrolled,
  OPERATOR_TOKEN,
  openStream,
  type Replica,
  startWorld,
} from '../../controlplane/sync/harness.ts'
import { eventually } from '../../support/eventually.ts'
import { type KubeApiServer, startKubeApiServer } from '../../support/kube-api-server.ts'
import { NO_FLOORS } from '../../support/no-floors.ts'
import { type Any, type Cluster, openCluster } from '../kube/cluster.ts'

export const SYSTEM = 'chaperone-system'

/** A real API server, a real control plane on a real database, and operators between them. */
export type ClusterWorld = AsyncDisposable & {
  readonly server: KubeApiServer
  readonly cluster: Cluster
  readonly control: ControlPlaneWorld
  readonly replica: Replica
  operator(options?: OperatorOptions): Promise<ClusterOperator>
  /** Number of calls such as `list policies` in the audit log of the API server. */
  asked(what: string): Promise<number>
  /** Every call of one user, by the audit log: `verb group/resource[/subresource]`, with the answer's status. */
  callsBy(user: string): Promise<ReadonlyArray<{ call: string; namespace: string; status: number }>>
  /** Writes of the operator that the API server has seen, as `verb resource/subresource namespace/name`. */
  writes(): Promise<string[]>
}

export type OperatorOptions = {
  readonly timing?: ClusterTiming
  readonly controlPlaneUrl?: string
  readonly peers?: readonly string[]
  readonly kubeconfig?: string
  /** Runs an admission component without a webhook, so that the operator watches the objects of agent-sandbox. */
  readonly isAdmitting?: boolean
}

/** The namespace in which a NetworkPolicy isolates pods with `proxyEnv`. */
export const ISOLATED = 'isolated'

const NO_ADMISSION: AdmissionComponent = {
  checks: [],
  isIsolated: (namespace) => namespace === ISOLATED,
  [Symbol.asyncDispose]: async () => undefined,
}

/** As quick as a test wants it; nothing else is different. */
const QUICK: ClusterTiming = {
  lease: { durationMs: 3_000, renewDeadlineMs: 2_000, retryMs: 300 },
  leader: { sweepMs: 1_000, secretsMs: 300, stateMs: 100, countsMs: 200, grantsMs: 100 },
  kill: {
    ...{ silentMs: 2_000, brokenMs: 500 },
    maps: { watchS: [1, 2], idleMs: 5_000, minMs: 50, maxMs: 1_000 },
  },
  podCompareMs: 1_000,
}

export async function startClusterWorld(options: { withControllers?: boolean } = {}): Promise<ClusterWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-operator-'))
  const [server, control] = await Promise.all([startKubeApiServer(options), startWorld()])
  const replica = await control.replica()
  const cluster = openCluster(server)
  await cluster.installCrds()
  await cluster.namespace(SYSTEM)
  await writeFile(join(folder, 'token'), OPERATOR_TOKEN)
  const operators: ClusterOperator[] = []
  return {
    server,
    cluster,
    control,
    replica,
    async operator({
      timing = QUICK,
      controlPlaneUrl = replica.url,
      peers = [],
      kubeconfig,
      isAdmitting = false,
    } = {}) {
      const config: ClusterConfig = {
        ...{ mode: 'cluster', namespace: SYSTEM, podName: 'operator', leaseName: 'chaperone-operator' },
        ...{ controlPlaneUrl, peers, peersHost: null, controlPlaneCaFile: null, logLevel: 'silent' },
        ...{ operatorTokenFile: join(folder, 'token'), floorRules: NO_FLOORS },
        ...{
          healthHost: '127.0.0.1',
          healthPort: 0,
          podApi: null,
          kubeconfig: kubeconfig ?? server.kubeconfigPath,
        },
      }
      const log = pino({ level: process.env.TEST_LOG ?? 'silent' }, pino.destination({ dest: 2, sync: true }))
      const operator = await createClusterOperator({
        ...{ config, log, timing },
        openAdmission: isAdmitting ? async () => NO_ADMISSION : null,
      })
      operators.push(operator)
      await operator.synced
      return operator
    },
    asked: async (what) =>
      (await auditEvents(server)).filter(({ verb, objectRef }) => `${verb} ${objectRef?.resource}` === what)
        .length,
    async callsBy(user) {
      const events = (await auditEvents(server)).filter((event) => event.user.username === user)
      return events.flatMap(({ verb, objectRef, responseStatus }) => {
        if (objectRef === undefined) return []
        const { apiGroup = '', resource, subresource, namespace = '' } = objectRef
        const place = [resource, subresource].filter(Boolean).join('/')
        return [{ call: `${verb} ${apiGroup}:${place}`, namespace, status: responseStatus?.code ?? 0 }]
      })
    },
    async writes() {
      const events = (await auditEvents(server)).filter((event) =>
        event.requestURI.includes('fieldManager=chaperone-operator'),
      )
      return events.flatMap(({ verb, objectRef }) => {
        if (objectRef === undefined) return []
        const { resource, subresource, namespace, name } = objectRef
        return [`${verb} ${[resource, subresource].filter(Boolean).join('/')} ${namespace}/${name}`]
      })
    },
    async [Symbol.asyncDispose]() {
      for (const operator of operators) await operator[Symbol.asyncDispose]()
      cluster[Symbol.dispose]()
      await control.stop()
      await server[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function auditEvents({ auditLogPath }: KubeApiServer): Promise<AuditEvent[]> {
  const whole = (await readFile(auditLogPath, 'utf8')).split('\n').slice(0, -1)
  return whole.map((line) => JSON.parse(line) as AuditEvent)
}

type AuditEvent = {
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
  readonly responseStatus?: { readonly code: number }
  readonly objectRef?: {
    apiGroup?: string
    resource: string
    subresource?: string
    namespace?: string
    name?: string
  }
}

type Status = {
  readonly observedGeneration?: number
  readonly conditions?: ReadonlyArray<{ type: string; status: string; reason: string; message: string }>
  readonly [key: string]: unknown
}

export function statusOf(object: Any): Status {
  return (object['status'] ?? {}) as Status
}

/** `Type=Status/Reason` of every condition. */
export function conditions(object: Any): string[] {
  return (statusOf(object).conditions ?? [])
    .map((each) => `${each.type}=${each.status}/${each.reason}`)
    .sort()
}

/** Waits until the object's conditions contain all of `wanted`; the failure shows what they were last. */
export async function untilConditions(
  cluster: Cluster,
  [kind, namespace, name]: readonly ['Gateway' | 'Connector' | 'Permission' | 'Policy', string, string],
  wanted: readonly string[],
): Promise<Any> {
  let last: Any | null = null
  const probe = async () => {
    last = await cluster.get(kind, namespace, name)
    const are = conditions(last)
    return wanted.every((each) => are.includes(each)) ? last : null
  }
  return eventually(`${kind} ${namespace}/${name} is ${wanted.join(', ')}`, probe).catch((error: unknown) => {
    throw new Error(`${String(error)}; was ${JSON.stringify(last?.['status'])}`)
  })
}

/** A gateway process that takes whatever it is sent. */
export async function runGateway(replica: Replica, of: Enrolled, processId: string) {
  const stream = await openStream(replica, of, { processId, acks: true })
  let isOpen = true
  const ack = async () => {
    let applied = -1
    while (isOpen) {
      const newest = stream.messages.filter((message) => message.type === 'sections').at(-1)
      if (newest !== undefined && newest.version > applied) {
        applied = newest.version
        const body = { version: applied, applied_at: new Date().toISOString() }
        await replica.gateway(of, 'POST', '/api/gateway/ack', body, processId)
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const acking = ack()
  return {
    stream,
    async close() {
      isOpen = false
      await acking
      stream.close()
    },
  }
}
