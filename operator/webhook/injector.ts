import { X509Certificate } from 'node:crypto'
import type { Logger } from 'pino'
import type { KubeClient } from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'
import type { Validity } from '../metrics.ts'
import { createCertificateStore } from './certificate-store.ts'
import { type Certificates, createCertificates } from './certificates.ts'
import type { WebhookTarget } from './configuration.ts'
import { createInjectionEvents } from './injection-events.ts'
import { createIssuedCertificates } from './issued-certificates.ts'
import { createIssuedUids } from './issued-uids.ts'
import type { Leaf } from './leaf.ts'
import type { ReviewDeps } from './review-pod.ts'
import { openWebhookServer, type WebhookDeps, type WebhookServer } from './server.ts'

export type InjectorDeps = Pick<
  ReviewDeps,
  'gateways' | 'namespaceLabels' | 'agentElsewhere' | 'sandboxes' | 'runtimes' | 'isolationOf' | 'settings'
> &
  Pick<WebhookDeps, 'host' | 'port' | 'isReady' | 'onReview' | 'floorRules' | 'operatorUser'> & {
    readonly client: KubeClient
    readonly recorder: EventRecorder
    readonly log: Logger
    readonly ownNamespace: string
    /** Returns the address at which the API server calls the webhook, for a listening port. */
    readonly target: (port: number) => WebhookTarget
    /** Host names and addresses of the webhook, for its certificate. */
    readonly hosts: readonly [string, ...string[]]
    /** Secret with the certificate of the webhook; null when the operator issues the certificate. */
    readonly certificateSecret: string | null
  }

export type Injector = AsyncDisposable & {
  readonly port: number
  /** Returns the certificates of the webhook by their names in metrics. */
  certificates(): ReadonlyMap<string, Validity>
  /** Writes the webhook configurations again. */
  restore(): Promise<void>
}

/** Returns the DNS names of a Service. */
export function serviceHosts(name: string, namespace: string): readonly [string, ...string[]] {
  return [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`]
}

/**
 * Opens the webhook of a replica: certificates, server and webhook configurations. The configurations are written once
 * the server listens. Rejects when the Secret or a configuration cannot be written, or the port is in use.
 */
export async function openInjector(deps: InjectorDeps): Promise<Injector> {
  const { client, log, ownNamespace, hosts } = deps
  const onFailure = (error: unknown) => log.error({ err: error }, 'webhook failed')
  let server: WebhookServer | undefined
  const store = createCertificateStore(client, {
    ownNamespace,
    // `server` is set before `publish`, because the configurations are written only when the server listens.
    target: () => deps.target(server?.port ?? deps.port),
  })
  const common = { nowMs: Date.now, onLeaf: (leaf: Leaf) => server?.useLeaf(leaf), onFailure }
  const secret = deps.certificateSecret
  const certificates =
    secret === null
      ? await createCertificates({ port: store, hosts, ...common })
      : await createIssuedCertificates({
          port: { ...store, readIssued: () => store.readIssued(secret) },
          secret: `${ownNamespace}/${secret}`,
          ...common,
        })
  try {
    server = await openWebhookServer({
      ...deps,
      uids: createIssuedUids(Date.now),
      ...createInjectionEvents(deps.recorder),
      leaf: certificates.leaf,
      onFailure,
    })
    await certificates.publish()
  } catch (error) {
    await close(certificates, server)
    throw error
  }
  const opened = server
  return {
    port: opened.port,
    restore: certificates.publish,
    certificates: () =>
      new Map([
        ['webhook', validityOf(certificates.leaf.certPem)],
        ['webhook_ca', validityOf(certificates.signerPem)],
      ]),
    [Symbol.asyncDispose]: () => close(certificates, opened),
  }
}

function validityOf(certPem: string): Validity {
  const { validFrom, validTo } = new X509Certificate(certPem)
  return { notBeforeMs: Date.parse(validFrom), notAfterMs: Date.parse(validTo) }
}

async function close(certificates: Certificates, server: WebhookServer | undefined): Promise<void> {
  certificates[Symbol.dispose]()
  await server?.[Symbol.asyncDispose]()
}
