import * as z from 'zod'
import { POD_PORTS, READINESS_REASON } from '../../../core/capture/pod-contract.ts'
import type { Kubectl } from './kubectl.ts'

const Terminated = z.looseObject({ exitCode: z.number().optional(), message: z.string().optional() })
const ContainerStatus = z.looseObject({
  name: z.string(),
  ready: z.boolean().default(false),
  restartCount: z.number().default(0),
  state: z.looseObject({ terminated: Terminated.optional() }).default({}),
  lastState: z.looseObject({ terminated: Terminated.optional() }).default({}),
})
const Container = z.looseObject({ name: z.string(), image: z.string().default('') })
const Texts = z.record(z.string(), z.string()).default({})

/** Schema with the fields of a pod that the checks read. */
export const DiagnosedPod = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string(), annotations: Texts, labels: Texts }),
  spec: z.looseObject({
    containers: z.array(Container),
    initContainers: z.array(Container).default([]),
  }),
  status: z
    .looseObject({
      phase: z.string().default('Unknown'),
      initContainerStatuses: z.array(ContainerStatus).default([]),
    })
    .default({ phase: 'Unknown', initContainerStatuses: [] }),
})
export type DiagnosedPod = z.infer<typeof DiagnosedPod>

const Condition = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().default(''),
  message: z.string().default(''),
})
export const DiagnosedGateway = z.looseObject({
  spec: z
    .looseObject({ interception: z.string().default('transparent') })
    .default({ interception: 'transparent' }),
  status: z.looseObject({ conditions: z.array(Condition).default([]) }).default({ conditions: [] }),
})

/** Facts about a pod, from which `podChecks` derives its results. */
export type PodFacts = {
  readonly pod: DiagnosedPod
  /** `namespace/name` of the pod's Gateway; null when the pod does not have the gateway annotation. */
  readonly gatewayName: string | null
  readonly gateway: z.infer<typeof DiagnosedGateway> | null
  /** Body of the sidecar's readiness probe; null when it cannot be read. */
  readonly readiness: string | null
  /** Sidecar image that the operator injects; null when the operator's Deployment cannot be read. */
  readonly sidecarImage: string | null
  /** Names of known programs in each container; null when the container cannot be inspected. */
  readonly programs: ReadonlyMap<string, readonly string[] | null>
}

/** Programs for which the checks list the HTTP clients that work and the clients that fail. */
const KNOWN_PROGRAMS = [
  'node',
  'python3',
  'java',
  'go',
  'curl',
  'git',
  'wget',
  'gh',
  'deno',
  'cargo',
  'chromium',
  'google-chrome',
  'firefox',
  'gosu',
  'su-exec',
  'sudo',
] as const

/** Collects the facts about a pod; null when the pod does not exist. */
export async function podFacts(
  kubectl: Kubectl,
  {
    namespace,
    name,
    system,
  }: { readonly namespace: readonly string[]; readonly name: string; readonly system: string },
): Promise<PodFacts | null> {
  const found = await kubectl.object<unknown>('pod', name, ...namespace)
  if (found === null) return null
  const pod = DiagnosedPod.parse(found)
  const gatewayName = gatewayOf(pod)
  const [place = '', short = ''] = gatewayName?.split('/') ?? []
  const [gateway, readiness, sidecarImage, programs] = await Promise.all([
    gatewayName === null ? null : kubectl.object('gateways.chaperone.dev', short, '-n', place),
    readinessOf(kubectl, pod),
    imageOf(kubectl, system),
    programsOf(kubectl, pod),
  ])
  return {
    pod,
    gatewayName,
    gateway: gateway === null ? null : DiagnosedGateway.parse(gateway),
    readiness,
    sidecarImage,
    programs,
  }
}

/**
 * Returns the body of the readiness probe. Returns null when no sidecar is running, or when the user lacks the right
 * to proxy to the pod.
 */
async function readinessOf(kubectl: Kubectl, { metadata }: DiagnosedPod): Promise<string | null> {
  const { namespace, name } = metadata
  const path = `/api/v1/namespaces/${namespace}/pods/${name}:${POD_PORTS.health}/proxy${READINESS_REASON}`
  const timeout = '--request-timeout=5s'
  return await kubectl.run('get', '--raw', path, timeout).then(
    (body) => body.trim(),
    () => null,
  )
}

function gatewayOf({ metadata }: DiagnosedPod): string | null {
  const named = metadata.annotations['chaperone.dev/gateway'] ?? ''
  if (named === '') return null
  return named.includes('/') ? named : `${metadata.namespace}/${named}`
}

/**
 * Returns the sidecar image that the operator injects. Returns null when the user lacks the right to read the
 * operator's Deployment.
 */
async function imageOf(kubectl: Kubectl, system: string): Promise<string | null> {
  const path = `jsonpath={.spec.template.spec.containers[0].env[?(@.name=='SIDECAR_IMAGE')].value}`
  const image = await kubectl
    .run('get', 'deployment', 'chaperone-operator', '-n', system, '-o', path)
    .catch(() => '')
  return image === '' ? null : image
}

async function programsOf(kubectl: Kubectl, { metadata, spec }: DiagnosedPod): Promise<PodFacts['programs']> {
  const script = `for p in ${KNOWN_PROGRAMS.join(' ')}; do command -v $p >/dev/null 2>&1 && echo $p; done; true`
  const found = spec.containers.map(async ({ name }) => {
    const place = ['-n', metadata.namespace, '-c', name]
    // `kubectl exec` fails when the image has no shell, and when the user lacks the right to exec.
    const output = await kubectl
      .run('exec', metadata.name, ...place, '--', 'sh', '-c', script)
      .catch(() => null)
    return [name, output === null ? null : output.split('\n').filter((line) => line !== '')] as const
  })
  return new Map(await Promise.all(found))
}
