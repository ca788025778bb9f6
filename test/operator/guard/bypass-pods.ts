import { inject } from '../../../core/inject/inject.ts'
import type { Isolation } from '../../../core/inject/interception.ts'
import { type Container, type Pod, PodSchema } from '../../../core/inject/pod.ts'
import type { Runtime } from '../../../core/inject/runtime.ts'
import { gateway, INJECT_OPTIONS } from '../../support/golden-pods.ts'
import { GUARD_OPTIONS } from '../../support/guard-options.ts'

export const UID = INJECT_OPTIONS.freshUid
export const PLAIN = { serviceAccountName: 'default', containers: [{ name: 'agent', image: 'node:24' }] }
export const OPTIONS = {
  ...GUARD_OPTIONS,
  cooperativeGateways: ['team/soft'],
  autoGateways: ['team/auto'],
  controlPlaneAddresses: ['10.96.7.6', '10.96.7.7'],
  searchDomains: ['ec2.internal', 'corp.example,ec2.internal'],
  gvisorRuntimeClasses: ['sandboxed'],
  strictGateways: ['team/hard'],
  inboundDenied: ['team/inward'],
  seccompProfiles: [['team/profiled', 'profiles/agent.json'] as const],
}

/** An injected pod after a `change` by a user. */
export function governedPod(
  name: string,
  change: (pod: Pod) => void = () => undefined,
  by = gateway('team', 'main'),
  runtime: {
    readonly runtimeClassName: string
    readonly runtime: Runtime
    readonly isolation?: Isolation
  } | null = null,
): Pod {
  const given = PodSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations: { 'chaperone.dev/gateway': by.name } },
    spec: {
      ...PLAIN,
      ...(runtime && { runtimeClassName: runtime.runtimeClassName }),
      initContainers: [{ name: 'prepare', image: 'busybox' }],
      volumes: [{ name: 'own', emptyDir: {} }],
    },
  })
  const result = inject(given, by, {
    ...INJECT_OPTIONS,
    runtime: runtime?.runtime,
    isolation: runtime?.isolation,
  })
  if (result.kind === 'refused') throw new Error(JSON.stringify(result.refusals))
  const pod = structuredClone(result.pod)
  change(pod)
  return pod
}

const first = (containers: Container[] | undefined, at = 0): Container => {
  const container = containers?.[at]
  if (container === undefined) throw new Error('no such container')
  return container
}
export const agent = (pod: Pod) => first(pod.spec.containers)
export const prepare = (pod: Pod) => first(pod.spec.initContainers, 2)
export const rules = (pod: Pod) => first(pod.spec.initContainers, 0)
export const proxy = (pod: Pod) => first(pod.spec.initContainers, 1)
export const secure = (container: Container, more: object) => {
  container.securityContext = { ...container.securityContext, ...more }
}

/** Bypasses at admission, and the field that the refusal names. */
export const WAYS: ReadonlyArray<readonly [string, (pod: Pod) => void, string]> = [
  ['without any sidecar', (pod) => pod.spec.initContainers?.splice(0, 2), 'spec.initContainers'],
  ['without rules', (pod) => pod.spec.initContainers?.shift(), 'spec.initContainers'],
  ['without a proxy', (pod) => pod.spec.initContainers?.splice(1, 1), 'spec.initContainers'],
  [
    'with its own init container before the rules',
    (pod) => pod.spec.initContainers?.unshift(...(pod.spec.initContainers?.splice(2, 1) ?? [])),
    'spec.initContainers',
  ],
  [
    'with its own init container before the proxy',
    (pod) => pod.spec.initContainers?.splice(1, 0, ...(pod.spec.initContainers?.splice(2, 1) ?? [])),
    'spec.initContainers',
  ],
  [
    'with two proxies',
    (pod) => {
      prepare(pod).name = 'chaperone-proxy'
      proxy(pod).name = 'prepare'
    },
    'spec.initContainers',
  ],
  [
    'that says it needs no rules',
    (pod) => {
      pod.metadata.labels = { ...pod.metadata.labels, 'chaperone.dev/layer': 'Cooperative' }
      pod.spec.initContainers?.shift()
    },
    'chaperone.dev/layer',
  ],
  [
    'with rules for another user',
    (pod) => {
      rules(pod)['command'] = [
        '/usr/local/sbin/nft-cap',
        '-D',
        'proxy_uid=0',
        '-f',
        '/etc/chaperone/rules.nft',
      ]
    },
    'chaperone-rules.command',
  ],
  [
    'with other rules',
    (pod) => {
      rules(pod)['args'] = ['flush', 'ruleset']
    },
    'chaperone-rules.command',
  ],
  [
    'with another image for the rules',
    (pod) => {
      rules(pod).image = 'mine'
    },
    'chaperone-rules.image',
  ],
  [
    'with rules that may do more',
    (pod) => secure(rules(pod), { capabilities: { add: ['NET_ADMIN', 'SYS_ADMIN'], drop: ['ALL'] } }),
    'chaperone-rules.securityContext',
  ],
  [
    'with another proxy',
    (pod) => {
      proxy(pod).image = 'mine'
    },
    'chaperone-proxy.image',
  ],
  [
    'with another command for the proxy',
    (pod) => {
      proxy(pod)['command'] = ['sleep', '1d']
    },
    'chaperone-proxy.command',
  ],
  [
    'with a proxy that ends',
    (pod) => {
      delete proxy(pod).restartPolicy
      delete proxy(pod).startupProbe
      delete proxy(pod).readinessProbe
      delete proxy(pod).livenessProbe
    },
    'chaperone-proxy.restartPolicy',
  ],
  ...(['startupProbe', 'readinessProbe', 'livenessProbe'] as const).map((probe): (typeof WAYS)[number] => [
    `with a program of its own as ${probe} of the proxy`,
    (pod) => {
      proxy(pod)[probe] = { exec: { command: ['node', '-e', 'fetch("https://evil.example")'] } }
    },
    'chaperone-proxy.startupProbe',
  ]),
  [
    'with a probe of the proxy that goes elsewhere',
    (pod) => {
      proxy(pod).livenessProbe = { httpGet: { host: 'evil.example', port: 15_021, path: '/live' } }
    },
    'chaperone-proxy.startupProbe',
  ],
  [
    'with a proxy for another control plane',
    (pod) => {
      for (const each of proxy(pod).env ?? [])
        if (each.name === 'CONTROL_PLANE_URL') each.value = 'https://evil.example'
    },
    'chaperone-proxy.env',
  ],
  [
    'with DNS servers of its own for the proxy',
    (pod) => {
      for (const each of proxy(pod).env ?? []) if (each.name === 'DNS_RESOLVERS') each.value = '198.51.100.53'
    },
    'DNS_RESOLVERS',
  ],
  [
    'with two settings for the DNS servers of the proxy',
    (pod) => proxy(pod).env?.push({ name: 'DNS_RESOLVERS', value: '198.51.100.53' }),
    'DNS_RESOLVERS',
  ],
  [
    'without DNS servers for the proxy',
    (pod) => {
      proxy(pod).env = proxy(pod).env?.filter(({ name }) => name !== 'DNS_RESOLVERS')
    },
    'DNS_RESOLVERS',
  ],
  [
    'with a cluster domain of its own for the proxy',
    (pod) => {
      for (const each of proxy(pod).env ?? []) if (each.name === 'CLUSTER_DOMAIN') each.value = 'evil.example'
    },
    'DNS_RESOLVERS',
  ],
  [
    'with search domains of its own for the proxy',
    (pod) => proxy(pod).env?.push({ name: 'SEARCH_DOMAINS', value: 'evil.example' }),
    'SEARCH_DOMAINS',
  ],
  [
    'with a library in the proxy',
    (pod) => proxy(pod).env?.push({ name: 'LD_PRELOAD', value: '/evil.so' }),
    'chaperone-proxy.env',
  ],
  [
    'with options for the runtime of the proxy',
    (pod) => {
      for (const each of proxy(pod).env ?? []) if (each.name === 'NODE_OPTIONS') each.value = '--inspect'
    },
    'chaperone-proxy.env',
  ],
  [
    'with the proxy of another Gateway',
    (pod) => {
      for (const each of proxy(pod).env ?? []) if (each.name === 'GATEWAY_NAME') each.value = 'team/other'
    },
    'GATEWAY_NAME',
  ],
  [
    'with a proxy as another user',
    (pod) => {
      secure(proxy(pod), { runAsUser: 1000 })
      const [program, define, , ...file] = rules(pod)['command'] as string[]
      rules(pod)['command'] = [program, define, 'proxy_uid=1000', ...file]
    },
    'chaperone-proxy.securityContext.runAsUser',
  ],
  [
    'with a proxy that may do more',
    (pod) => secure(proxy(pod), { capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } }),
    'chaperone-proxy.securityContext',
  ],
  [
    'as the user of the proxy',
    (pod) => secure(agent(pod), { runAsUser: UID }),
    'spec.containers[*].securityContext.runAsUser',
  ],
  [
    'with an init container as the user of the proxy',
    (pod) => secure(prepare(pod), { runAsUser: UID }),
    'spec.initContainers[*].securityContext.runAsUser',
  ],
  [
    'where everybody is the user of the proxy',
    (pod) => {
      pod.spec.securityContext = { ...pod.spec.securityContext, runAsUser: UID }
    },
    'spec.securityContext.runAsUser',
  ],
  [
    'with capabilities that were kept',
    (pod) => secure(agent(pod), { capabilities: {} }),
    'spec.containers[*].securityContext.capabilities.drop',
  ],
  [
    'with NET_ADMIN',
    (pod) => secure(agent(pod), { capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } }),
    'spec.containers[*].securityContext.capabilities.add',
  ],
  [
    'with NET_RAW in an init container',
    (pod) => secure(prepare(pod), { capabilities: { drop: ['ALL'], add: ['NET_RAW'] } }),
    'spec.initContainers[*].securityContext.capabilities.add',
  ],
  [
    'that may gain privileges',
    (pod) => secure(agent(pod), { allowPrivilegeEscalation: true }),
    'spec.containers[*].securityContext.allowPrivilegeEscalation',
  ],
  [
    'that does not say it may gain none',
    (pod) => {
      delete agent(pod).securityContext?.allowPrivilegeEscalation
    },
    'spec.containers[*].securityContext.allowPrivilegeEscalation',
  ],
  [
    'that is privileged',
    (pod) => secure(agent(pod), { privileged: true, allowPrivilegeEscalation: true }),
    'spec.containers[*].securityContext.privileged',
  ],
  [
    'with an open /proc',
    (pod) => {
      secure(agent(pod), { procMount: 'Unmasked' })
      pod.spec['hostUsers'] = false
    },
    'procMount',
  ],
  [
    'without seccomp',
    (pod) => {
      delete pod.spec.securityContext?.seccompProfile
    },
    'spec.securityContext.seccompProfile.type',
  ],
  [
    'unconfined',
    (pod) => {
      pod.spec.securityContext = { seccompProfile: { type: 'Unconfined' } }
    },
    'seccompProfile.type',
  ],
  [
    'with an unconfined container',
    (pod) => secure(agent(pod), { seccompProfile: { type: 'Unconfined' } }),
    'spec.containers[*].securityContext.seccompProfile.type',
  ],
  [
    'in the network of the node',
    (pod) => {
      pod.spec.hostNetwork = true
    },
    'spec.hostNetwork',
  ],
  [
    'among the processes of the node',
    (pod) => {
      pod.spec.hostPID = true
    },
    'spec.hostPID',
  ],
  [
    'in the memory of the node',
    (pod) => {
      pod.spec.hostIPC = true
    },
    'spec.hostIPC',
  ],
  [
    'that sees the processes of the proxy',
    (pod) => {
      pod.spec.shareProcessNamespace = true
    },
    'spec.shareProcessNamespace',
  ],
  [
    'with a folder of the node',
    (pod) => pod.spec.volumes?.push({ name: 'host', hostPath: { path: '/' } }),
    'spec.volumes',
  ],
  [
    'that mounts the token of the proxy',
    (pod) => agent(pod).volumeMounts?.push({ name: 'chaperone-token', mountPath: '/t' }),
    'spec.containers[*].volumeMounts',
  ],
  [
    'that mounts the socket of the proxy in an init container',
    (pod) => prepare(pod).volumeMounts?.push({ name: 'chaperone-admin', mountPath: '/t' }),
    'spec.initContainers[*].volumeMounts',
  ],
  [
    'that could write the certificates',
    (pod) => {
      agent(pod).volumeMounts = [{ name: 'chaperone-trust', mountPath: '/etc/chaperone/trust' }]
    },
    'spec.containers[*].volumeMounts',
  ],
  [
    'that hides the certificates',
    (pod) => agent(pod).volumeMounts?.push({ name: 'own', mountPath: '/etc/chaperone' }),
    'spec.containers[*].volumeMounts',
  ],
  [
    'with a token that could be anything',
    (pod) => {
      pod.spec.volumes = pod.spec.volumes?.map((each) =>
        each.name === 'chaperone-token' ? { name: each.name, emptyDir: {} } : each,
      )
    },
    'spec.volumes',
  ],
  [
    'with a second token of the proxy',
    (pod) =>
      pod.spec.volumes?.push({
        name: 'mine',
        projected: { sources: [{ serviceAccountToken: { audience: 'chaperone-control-plane', path: 't' } }] },
      }),
    'spec.volumes',
  ],
  [
    'with a port of the node',
    (pod) => {
      agent(pod).ports = [{ containerPort: 8080, hostPort: 8080 }]
    },
    'spec.containers[*].ports',
  ],
  [
    'with a probe that the node sends elsewhere',
    (pod) => {
      agent(pod)['livenessProbe'] = { httpGet: { host: 'evil.example', port: 80, path: '/' } }
    },
    'spec.containers[*]: a probe',
  ],
  [
    'with a hook that the node sends elsewhere',
    (pod) => {
      agent(pod).lifecycle = { postStart: { httpGet: { host: 'evil.example', port: 80, path: '/' } } }
    },
    'spec.containers[*]: a probe',
  ],
  [
    'with an unsafe sysctl',
    (pod) => {
      pod.spec.securityContext = {
        ...pod.spec.securityContext,
        sysctls: [{ name: 'net.ipv4.conf.all.route_localnet', value: '1' }],
      }
    },
    'spec.securityContext.sysctls',
  ],
]
