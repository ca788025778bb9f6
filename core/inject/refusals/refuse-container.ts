import { VOLUMES } from '../../capture/pod-contract.ts'
import type { Container } from '../pod.ts'
import { type Refusal, refusal } from './refusal.ts'
import { refuseSecurity } from './refuse-security.ts'
import { RESERVED_CONTAINERS, RESERVED_PORTS, RESERVED_VOLUMES } from './reserved.ts'

/** Capabilities that a governed container may keep: the same as in PodSecurity `restricted`. */
export const ALLOWED_CAPABILITIES: readonly string[] = ['NET_BIND_SERVICE']

type Check = (container: Container, path: string, proxyUid: number) => readonly Refusal[]

const CHECKS: readonly Check[] = [
  reservedName,
  privileges,
  addedCapabilities,
  security,
  hostPorts,
  probeHosts,
  mounts,
  debugTarget,
]

/** Returns all settings of one container that contradict governance. `proxyUid` is the uid of the pod's proxy. */
export function refuseContainer(container: Container, path: string, proxyUid: number): readonly Refusal[] {
  return CHECKS.flatMap((check) => check(container, path, proxyUid))
}

function reservedName({ name }: Container, path: string): readonly Refusal[] {
  if (!RESERVED_CONTAINERS.has(name)) return []
  return [
    refusal(`${path}.name`, `the name ${name} is reserved for an injected container`, 'rename the container'),
  ]
}

function security({ securityContext }: Container, path: string, proxyUid: number): readonly Refusal[] {
  return refuseSecurity(securityContext, `${path}.securityContext`, proxyUid)
}

function privileges({ securityContext }: Container, path: string): readonly Refusal[] {
  const field = (name: string) => `${path}.securityContext.${name}`
  const isMasked = (securityContext?.procMount ?? 'Default') === 'Default'
  return [
    ...(securityContext?.privileged === true
      ? [
          refusal(
            field('privileged'),
            'a privileged container can undo the capture',
            'remove the field or set it to false',
          ),
        ]
      : []),
    ...(securityContext?.allowPrivilegeEscalation === true
      ? [
          refusal(
            field('allowPrivilegeEscalation'),
            'the value true lets a process change to the user of the proxy',
            'remove the field or set it to false',
          ),
        ]
      : []),
    ...(isMasked
      ? []
      : [refusal(field('procMount'), 'the value unmasks /proc', 'remove the field or set it to Default')]),
  ]
}

function addedCapabilities({ securityContext }: Container, path: string): readonly Refusal[] {
  return (securityContext?.capabilities?.add ?? []).flatMap((name, at) =>
    ALLOWED_CAPABILITIES.includes(name)
      ? []
      : [
          refusal(
            `${path}.securityContext.capabilities.add[${at}]`,
            `${name} could be used to disable or bypass the capture`,
            `remove it; only ${ALLOWED_CAPABILITIES.join(', ')} may be added`,
          ),
        ],
  )
}

function hostPorts({ ports = [] }: Container, path: string): readonly Refusal[] {
  return ports.flatMap(({ containerPort, hostPort }, at) => [
    ...(hostPort === undefined || hostPort === 0
      ? []
      : [
          refusal(
            `${path}.ports[${at}].hostPort`,
            'the field opens a port of the node',
            'remove the field and use a Service',
          ),
        ]),
    ...(RESERVED_PORTS.has(containerPort)
      ? [
          refusal(
            `${path}.ports[${at}].containerPort`,
            `${containerPort} is a port of the proxy in this pod`,
            'listen on another port',
          ),
        ]
      : []),
  ])
}

/**
 * Refuses probes and hooks with a `host`: the kubelet sends these requests from the node, where capture has no effect.
 */
function probeHosts(container: Container, path: string): readonly Refusal[] {
  const actions = {
    startupProbe: container.startupProbe,
    readinessProbe: container.readinessProbe,
    livenessProbe: container.livenessProbe,
    'lifecycle.postStart': container.lifecycle?.postStart,
    'lifecycle.preStop': container.lifecycle?.preStop,
  }
  return Object.entries(actions).flatMap(([name, action]) =>
    (['httpGet', 'tcpSocket'] as const).flatMap((kind) =>
      action?.[kind]?.host
        ? [
            refusal(
              `${path}.${name}.${kind}.host`,
              'the field makes the node send a request to an address other than the pod',
              'remove the field; the default is the pod itself',
            ),
          ]
        : [],
    ),
  )
}

function mounts({ volumeMounts = [] }: Container, path: string): readonly Refusal[] {
  return volumeMounts.flatMap(({ name, mountPath, readOnly }, at) => {
    const isTrust = name === VOLUMES.trust.name && readOnly === true && mountPath === VOLUMES.trust.path
    if (RESERVED_VOLUMES.has(name) && !isTrust)
      return [
        refusal(
          `${path}.volumeMounts[${at}].name`,
          `the volume ${name} is reserved for the proxy`,
          'remove the mount',
        ),
      ]
    if (!isTrust && isBelow(mountPath, VOLUMES.trust.path))
      return [
        refusal(
          `${path}.volumeMounts[${at}].mountPath`,
          `the mount would hide ${VOLUMES.trust.path}, the folder of the CA certificates`,
          'mount the volume at another path',
        ),
      ]
    return []
  })
}

function debugTarget({ targetContainerName }: Container, path: string): readonly Refusal[] {
  if (targetContainerName === undefined || !RESERVED_CONTAINERS.has(targetContainerName)) return []
  return [
    refusal(
      `${path}.targetContainerName`,
      `the container would see the processes of ${targetContainerName}`,
      'name a container of the agent',
    ),
  ]
}

/** Reports whether the two folders are equal, or one of them contains the other. */
function isBelow(a: string, b: string): boolean {
  const [first, second] = [a, b].map((path) => `${path.replace(/\/+$/, '')}/`)
  return first !== undefined && second !== undefined && (first.startsWith(second) || second.startsWith(first))
}
