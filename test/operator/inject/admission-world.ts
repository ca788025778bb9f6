import type { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import type { AdmissionComponent } from '../../../operator/cluster/admission.ts'
import type { PodIndex } from '../../../operator/cluster/pods/pod-index.ts'
import type { KubeClient } from '../../../operator/kube/client.ts'
import type { KubeApiServer } from '../../support/kube-api-server.ts'

export type AdmittingGateway = {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
  }
  readonly spec: GatewaySpec
}

export type StartOptions = {
  readonly known?: () => AdmittingGateway[]
  readonly maintenanceMs?: number
  readonly evicts?: boolean
  readonly floors?: string
  readonly leads?: boolean
}

/** An API server, an admission component that leads, and what the component sees. */
export type AdmissionWorld = {
  readonly server: KubeApiServer
  /** As an administrator. */
  readonly client: KubeClient
  /** With no more rights than the injector needs. */
  readonly own: KubeClient
  readonly component: AdmissionComponent
  readonly main: AdmittingGateway
  readonly podIndex: PodIndex
  /** The Gateways that were named each time the NetworkPolicy of a namespace changed. */
  readonly isolation: string[][]
  gateways: AdmittingGateway[]
  templates: ReadonlySet<string> | null
  arePodsSynced: boolean
  start(image: string, options?: StartOptions): Promise<AdmissionComponent>
  ready(started: AdmissionComponent): Promise<unknown>
  /** Resolves when the NetworkPolicies of `main`, which captures every pod, have been reconciled. */
  reconciled(): Promise<void>
}

export type Event = { reason: string; note: string; regarding: { kind: string; name: string } }

export type AuditEvent = {
  verb: string
  user: { username: string }
  responseStatus?: { code: number }
  objectRef?: { resource: string; subresource?: string; namespace?: string }
}
