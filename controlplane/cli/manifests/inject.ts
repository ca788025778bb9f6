import { randomInt } from 'node:crypto'
import { basename } from 'node:path'
import { stringify } from 'yaml'
import { ANNOTATIONS, INJECT_LABEL, PROXY_UIDS } from '../../../core/capture/pod-contract.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { governance } from '../../../core/inject/governance.ts'
import { inject as injectPod } from '../../../core/inject/inject.ts'
import { DEFAULT_PROXY_COMMAND, type InjectOptions } from '../../../core/inject/options.ts'
import type { Pod } from '../../../core/inject/pod.ts'
import { refusalText } from '../../../core/inject/refusals/refusal.ts'
import { runtimeOf } from '../../../core/inject/runtime.ts'
import type { WorkloadPod } from '../../../core/inject/workload.ts'
import { VERSION } from '../../version.ts'
import { usageError } from '../arguments.ts'
import { type Command, EXIT, flag, type Invocation, list, text } from '../command.ts'
import {
  type GatewaySource,
  gatewaysFromOption,
  gatewaysIn,
  gatewayWithDefaults,
  podsIn,
} from './inject-input.ts'
import { readManifestFiles } from './manifest-files.ts'

export const inject: Command = {
  name: 'inject',
  summary: 'Print pods as the injector of a cluster would change them; works offline',
  usage: ['inject -f FILE [--gateway FILE|NAME] [--namespace NAME] [--required] [--runtime-handler NAME]'],
  details:
    'Reads Pods and workloads (Deployment, StatefulSet, DaemonSet, Job, CronJob). Prints each pod with the sidecar; for a workload, the\n' +
    'pod that it would create. For a pod that cannot be injected, prints every conflicting field. Gateways are read from --gateway and\n' +
    'from the files; if a pod names a Gateway without a manifest there, default settings are used for this Gateway.',
  maxArguments: Number.POSITIVE_INFINITY,
  options: {
    file: {
      type: 'string',
      value: 'FILE',
      short: 'f',
      multiple: true,
      help: 'manifest file, or folder of manifests',
    },
    gateway: {
      type: 'string',
      value: 'FILE|NAME',
      help: 'Gateway of pods that have no annotation with a Gateway: a manifest file, NAME or NAMESPACE/NAME',
    },
    namespace: {
      type: 'string',
      value: 'NAME',
      short: 'n',
      help: 'namespace of pods without one (default: default)',
    },
    required: { type: 'boolean', help: `treat the namespace as labelled ${INJECT_LABEL}=required` },
    image: { type: 'string', value: 'IMAGE', help: `image of the sidecar (default chaperone:${VERSION})` },
    'dns-resolvers': {
      type: 'string',
      value: 'IP,...',
      help: 'DNS servers of sidecars (default 10.96.0.10)',
    },
    'runtime-handler': {
      type: 'string',
      value: 'NAME',
      help: 'handler of the RuntimeClass that the pods name, such as runsc',
    },
    'control-plane': { type: 'string', value: 'URL', help: 'address of the control plane for sidecars' },
  },
  examples: [
    ['chaperone inject -f pod.yaml --gateway main', 'check whether a pod can be governed'],
    [
      'chaperone inject -f deploy/ --gateway gateway.yaml > injected.yaml',
      'inject every workload of a folder',
    ],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { terminal, cwd } = invocation
  const names = [...list(invocation, 'file'), ...invocation.positionals]
  if (names.length === 0) throw usageError(inject, 'Give the manifests with -f FILE.')
  const files = readManifestFiles(names, cwd)
  const pods = files.flatMap(({ path, text: content }) => podsIn(content, basename(path)))
  if (pods.length === 0)
    throw new ChaperoneError('conflict', { detail: 'The files contain no pod and no workload.' })
  const namespace = text(invocation, 'namespace') ?? 'default'
  const given = gatewaysFromOption(invocation, namespace)
  const gateways = [...given.gateways, ...files.flatMap((file) => gatewaysIn(file.text, namespace))]
  const results = pods.map((each) => injectOne(invocation, each, { ...given, namespace, gateways }))
  for (const { warnings } of results) for (const line of warnings) terminal.warn(line)
  const made = results.flatMap(({ pod }) => (pod === null ? [] : [pod]))
  if (flag(invocation, 'json')) terminal.print(JSON.stringify(made))
  else if (made.length > 0)
    terminal.print(
      made
        .map((pod) => stringify(pod, { sortMapEntries: true }))
        .join('---\n')
        .trimEnd(),
    )
  return results.some(({ isRefused }) => isRefused) ? EXIT.refused : EXIT.ok
}

type Found = GatewaySource & { readonly namespace: string }
type Result = { readonly pod: Pod | null; readonly isRefused: boolean; readonly warnings: readonly string[] }

function injectOne(invocation: Invocation, each: WorkloadPod, found: Found): Result {
  const namespace = each.namespace ?? found.namespace
  const pod = withGateway(each.pod, found.preset)
  const { gateways } = found
  const governed = governance(
    pod,
    { name: namespace, labels: undefined, isRequired: flag(invocation, 'required') },
    {
      gatewayOf: (within, name) =>
        gateways.find((one) => one.namespace === within && one.name === name) ??
        (found.assumed === name ? gatewayWithDefaults(within, name, namespace) : undefined),
      gatewaysIn: (within) => gateways.filter((one) => one.namespace === within),
    },
  )
  const name = pod.metadata.name ?? `${pod.metadata.generateName ?? ''}*`
  if (governed.kind === 'none')
    return {
      pod,
      isRefused: false,
      warnings: [`${name} is not governed: it has no annotation ${ANNOTATIONS.gateway}`],
    }
  const result =
    governed.kind === 'refused'
      ? governed
      : injectPod(pod, governed.gateway, optionsFor(invocation, namespace))
  if (result.kind === 'injected') {
    const warnings = [...result.warnings, ...runtimeWarnings(pod, text(invocation, 'runtime-handler'))]
    return { pod: result.pod, isRefused: false, warnings: warnings.map((line) => `${name}: ${line}`) }
  }
  const reasons = result.refusals.map((refusal) => `${name} cannot be governed: ${refusalText(refusal)}`)
  return { pod: null, isRefused: true, warnings: reasons }
}

/**
 * Returns a warning for a pod with a RuntimeClass if `handler` is not given. Only the cluster has the handler of a
 * RuntimeClass.
 */
function runtimeWarnings({ spec }: Pod, handler: string | undefined): readonly string[] {
  const { runtimeClassName: name = '' } = spec
  if (name === '' || handler !== undefined) return []
  return [
    `spec.runtimeClassName ${name}: only the cluster has the handler of this RuntimeClass, so the output is for the handler runc. Give the handler with --runtime-handler (kubectl get runtimeclass ${name} -o jsonpath={.handler}).`,
  ]
}

function optionsFor(invocation: Invocation, namespace: string): InjectOptions {
  const image = text(invocation, 'image') ?? `chaperone:${VERSION}`
  return {
    namespace,
    images: { proxy: image, proxyCommand: DEFAULT_PROXY_COMMAND, rules: image, pullPolicy: 'IfNotPresent' },
    controlPlane: {
      url: text(invocation, 'control-plane') ?? 'https://chaperone-control-plane.chaperone-system.svc',
      hasOwnCertificateAuthority: true,
    },
    dns: {
      resolvers: (text(invocation, 'dns-resolvers') ?? '10.96.0.10').split(','),
      clusterDomain: 'cluster.local',
    },
    logLevel: 'info',
    runtime: runtimeOf(text(invocation, 'runtime-handler') ?? ''),
    freshUid: randomInt(PROXY_UIDS.first, PROXY_UIDS.last + 1),
    // Injection is idempotent, so an injected pod keeps the user id of its sidecar.
    keepsUid: () => true,
  }
}

function withGateway(pod: Pod, preset: string | undefined): Pod {
  const { annotations } = pod.metadata
  if (preset === undefined || annotations?.[ANNOTATIONS.gateway] !== undefined) return pod
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations: { ...annotations, [ANNOTATIONS.gateway]: preset } },
  }
}
