import { readdirSync, readFileSync } from 'node:fs'
import { GatewaySpec } from '../../core/crd/gateway/gateway-spec.ts'
import { type GatewayLookup, governance } from '../../core/inject/governance.ts'
import { inject } from '../../core/inject/inject.ts'
import type { InjectGateway, InjectOptions } from '../../core/inject/options.ts'
import { PodSchema } from '../../core/inject/pod.ts'
import type { Runtime, RuntimeLookup } from '../../core/inject/runtime.ts'
import type { AdmissionDeps } from '../../operator/cluster/admission.ts'

/** A pod of the golden corpus. `expect` is the result of the injection. */
export type GoldenPod = {
  readonly name: string
  readonly says: string
  readonly namespaceLabels?: Readonly<Record<string, string>>
  /** Fields of the spec of the Gateway `team/main`. */
  readonly gateway?: Partial<GatewaySpec>
  readonly keepsUid?: true
  /** Runtime of the RuntimeClass that the pod names. */
  readonly runtime?: Runtime
  readonly pod: unknown
  readonly expect: Expected
}

export type Expected =
  | { readonly injected: unknown; readonly warnings: readonly string[] }
  | { readonly refused: readonly string[] }
  | { readonly ungoverned: true }

const FOLDER = new URL('../golden/pods/', import.meta.url)

export function goldenPods(): readonly GoldenPod[] {
  return readdirSync(FOLDER)
    .sort()
    .map((file) => ({
      name: file.replace(/\.json$/, ''),
      ...(JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Omit<GoldenPod, 'name'>),
    }))
}

/** Look-up of a cluster without agent-sandbox. */
export const NO_SANDBOXES: AdmissionDeps['sandboxes'] = {
  sandboxOf: () => undefined,
  templateOf: () => undefined,
  templateNamespaces: () => new Set(),
  versionOf: () => undefined,
}

/** Look-up of a cluster without RuntimeClasses. */
export const NO_RUNTIMES: RuntimeLookup = { handlerOf: () => undefined }

export function gateway(namespace: string, name: string, spec: Partial<GatewaySpec> = {}): InjectGateway {
  return { namespace, name, spec: { ...GatewaySpec.parse({}), ...spec } }
}

/**
 * Returns the look-up of three Gateways: `team/main` with `spec`, `platform/shared`, which admits agents of namespace `team`,
 * and `platform/closed`, which does not.
 */
export function gatewayLookup(spec: Partial<GatewaySpec> = {}): GatewayLookup {
  const allowed = { allowedNamespaces: { agents: { from: 'Selector', names: ['team'] } } }
  const all = [
    gateway('team', 'main', spec),
    gateway('platform', 'shared', GatewaySpec.parse(allowed)),
    gateway('platform', 'closed'),
  ]
  return {
    gatewayOf: (namespace, name) => all.find((each) => each.namespace === namespace && each.name === name),
    gatewaysIn: (namespace) => all.filter((each) => each.namespace === namespace),
  }
}

export const INJECT_OPTIONS: InjectOptions = {
  namespace: 'team',
  images: { proxy: 'chaperone:1', proxyCommand: [], rules: 'chaperone-rules:1', pullPolicy: 'IfNotPresent' },
  controlPlane: { url: 'https://control-plane.chaperone-system.svc:8443', hasOwnCertificateAuthority: true },
  dns: { resolvers: ['10.96.0.10'], clusterDomain: 'cluster.local' },
  logLevel: 'info',
  freshUid: 1_950_000_000,
  keepsUid: () => false,
}

/** Returns the actual result of the injection of a pod, in the format of `expect`. */
export function judge(shape: Omit<GoldenPod, 'name' | 'expect'>): Expected {
  const pod = PodSchema.parse(shape.pod)
  const { namespaceLabels: labels = {} } = shape
  const namespace = { name: 'team', labels, isRequired: labels['chaperone.dev/inject'] === 'required' }
  const found = governance(pod, namespace, gatewayLookup(shape.gateway))
  if (found.kind === 'none') return { ungoverned: true }
  if (found.kind === 'refused') return { refused: found.refusals.map(({ field }) => field) }
  const options = { ...INJECT_OPTIONS, keepsUid: () => shape.keepsUid === true, runtime: shape.runtime }
  const result = inject(pod, found.gateway, options)
  return result.kind === 'injected'
    ? { injected: result.pod, warnings: result.warnings }
    : { refused: result.refusals.map(({ field }) => field) }
}
