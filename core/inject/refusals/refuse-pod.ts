import { ANNOTATIONS, PROBE_PORTS, TOKEN_AUDIENCE } from '../../capture/pod-contract.ts'
import { meshContainer, meshOptIns } from '../mesh.ts'
import type { InjectGateway } from '../options.ts'
import type { Pod, Volume } from '../pod.ts'
import { annotationField, type Refusal } from './refusal.ts'
import { refuseContainer } from './refuse-container.ts'
import { refuseSecurity } from './refuse-security.ts'
import { everyContainer, RESERVED_VOLUMES } from './reserved.ts'

/** Volume types that a governed pod may use: those of PodSecurity `restricted`, and `image`. */
export const ALLOWED_VOLUMES: readonly string[] = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

/** Sysctls that a governed pod may set: the safe ones of PodSecurity `baseline`. */
export const ALLOWED_SYSCTLS: readonly string[] = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_wmem',
]

const HOST_SWITCHES = {
  hostNetwork: 'the pod would use the network of the node, where its traffic is not captured',
  hostPID: 'the pod would see every process of the node',
  hostIPC: "the pod would share the node's memory segments",
  shareProcessNamespace: "the agent would see the proxy's processes and files",
} as const

/**
 * Returns all settings of a pod that contradict governance, in the order of its fields. An unset field is no
 * contradiction, because the injector sets it. `pod` must not contain the injected parts.
 */
export function refusePod(pod: Pod, gateway: InjectGateway, proxyUid: number): readonly Refusal[] {
  return [
    ...annotations(pod),
    ...meshOptIns(pod),
    ...hostSwitches(pod),
    ...operatingSystem(pod),
    ...refuseSecurity(pod.spec.securityContext, 'spec.securityContext', proxyUid),
    ...sysctls(pod),
    ...volumes(pod, gateway),
    ...everyContainer(pod).flatMap(
      ({ path, container }) => meshContainer(container, path) ?? refuseContainer(container, path, proxyUid),
    ),
    ...(gateway.spec.hardening === 'strict' ? nonRoot(pod) : []),
    ...otherSeccomp(pod, gateway.spec.agents?.seccompProfile),
  ]
}

const KNOWN_ANNOTATIONS: ReadonlySet<string> = new Set(Object.values(ANNOTATIONS))
const AGENT_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

function annotations({ metadata }: Pod): readonly Refusal[] {
  return Object.entries(metadata.annotations ?? {}).flatMap(([name, value]) => {
    const field = annotationField(name)
    if (name === ANNOTATIONS.agent && !AGENT_NAME.test(value))
      return [
        {
          field,
          problem: `${JSON.stringify(value)} is not an agent name`,
          change: 'use only lower-case letters, digits, - and .',
        },
      ]
    if (/^container\.apparmor\.security\.beta\.kubernetes\.io\//.test(name) && value === 'unconfined')
      return [
        { field, problem: 'the AppArmor profile is unconfined', change: 'set runtime/default or remove it' },
      ]
    if (!name.startsWith('chaperone.dev/') || KNOWN_ANNOTATIONS.has(name)) return []
    return [
      {
        field,
        problem: 'the annotation is unknown; a pod cannot exclude ports or hosts from governance',
        change: 'remove the annotation; configure exceptions in spec.egress of the Gateway',
      },
    ]
  })
}

function hostSwitches({ spec }: Pod): readonly Refusal[] {
  return Object.entries(HOST_SWITCHES).flatMap(([name, problem]) =>
    spec[name] === true
      ? [{ field: `spec.${name}`, problem, change: 'remove the field or set it to false' }]
      : [],
  )
}

function operatingSystem({ spec }: Pod): readonly Refusal[] {
  if (spec.os === undefined || spec.os.name === 'linux') return []
  return [
    {
      field: 'spec.os.name',
      problem: `the traffic of a pod on ${spec.os.name} cannot be captured; only Linux is supported`,
      change: 'run the agent on Linux',
    },
  ]
}

function sysctls({ spec }: Pod): readonly Refusal[] {
  return (spec.securityContext?.sysctls ?? []).flatMap(({ name, value }, at) => {
    const field = `spec.securityContext.sysctls[${at}]`
    if (!ALLOWED_SYSCTLS.includes(name))
      return [
        {
          field: `${field}.name`,
          problem: `${name} is not a safe sysctl of the Pod Security Standard baseline`,
          change: 'remove it',
        },
      ]
    const last = Number(value.trim().split(/\s+/)[1])
    if (name !== 'net.ipv4.ip_local_port_range' || last < PROBE_PORTS.first) return []
    return [
      {
        field: `${field}.value`,
        problem: `the range of local ports overlaps ${PROBE_PORTS.first}-${PROBE_PORTS.last}, which the probes of the sidecar use`,
        change: `end it below ${PROBE_PORTS.first}`,
      },
    ]
  })
}

function volumes({ spec }: Pod, gateway: InjectGateway): readonly Refusal[] {
  return (spec.volumes ?? []).flatMap((volume, at) => refuseVolume(volume, `spec.volumes[${at}]`, gateway))
}

function refuseVolume(volume: Volume, path: string, gateway: InjectGateway): readonly Refusal[] {
  if (RESERVED_VOLUMES.has(volume.name))
    return [
      {
        field: `${path}.name`,
        problem: `the name ${volume.name} is reserved for an injected volume`,
        change: 'rename the volume',
      },
    ]
  const forbidden = Object.keys(volume).find((key) => key !== 'name' && !ALLOWED_VOLUMES.includes(key))
  if (forbidden !== undefined)
    return [
      {
        field: `${path}.${forbidden}`,
        problem: `volumes of the kind ${forbidden} give access to resources outside the pod`,
        change: `use one of ${ALLOWED_VOLUMES.join(', ')}`,
      },
    ]
  return projectedTokens(volume, path, gateway)
}

function projectedTokens(volume: Volume, path: string, gateway: InjectGateway): readonly Refusal[] {
  const isTokenAllowed = gateway.spec.agents?.allowServiceAccountToken === true
  return (volume.projected?.sources ?? []).flatMap(({ serviceAccountToken: token }, at) => {
    if (token === undefined) return []
    const field = `${path}.projected.sources[${at}].serviceAccountToken`
    if (token.audience === TOKEN_AUDIENCE)
      return [
        {
          field: `${field}.audience`,
          problem: 'with this token the agent could impersonate its own proxy',
          change: 'choose another audience',
        },
      ]
    if (token.audience !== undefined && token.audience !== '') return []
    if (isTokenAllowed) return []
    return [
      {
        field,
        problem: 'the volume has a token for the Kubernetes API, which the Gateway does not allow for agents',
        change:
          'set the audience of the token to a service other than the Kubernetes API, or set spec.agents.allowServiceAccountToken on the Gateway',
      },
    ]
  })
}

/** Returns the seccomp profiles that differ from the one that the Gateway demands. */
function otherSeccomp(pod: Pod, wanted: string | undefined): readonly Refusal[] {
  if (wanted === undefined) return []
  const all = [
    { path: 'spec', securityContext: pod.spec.securityContext },
    ...everyContainer(pod).map(({ path, container }) => ({
      path,
      securityContext: container.securityContext,
    })),
  ]
  return all.flatMap(({ path, securityContext }) => {
    const given = securityContext?.seccompProfile
    if (given === undefined || given.type === 'Unconfined') return []
    if (given.type === 'Localhost' && given.localhostProfile === wanted) return []
    return [
      {
        field: `${path}.securityContext.seccompProfile`,
        problem: `the Gateway demands the seccomp profile ${wanted} (spec.agents.seccompProfile)`,
        change: 'remove the field; the injector sets the profile',
      },
    ]
  })
}

/** Returns the refusals of `hardening: strict`: every container must run as a numeric uid other than root. */
function nonRoot(pod: Pod): readonly Refusal[] {
  return everyContainer(pod).flatMap(({ path, container: { securityContext } }) => {
    const { runAsUser, runAsNonRoot } = { ...pod.spec.securityContext, ...securityContext }
    if (runAsUser === 0)
      return [
        rootRefusal(securityContext?.runAsUser === 0 ? `${path}.securityContext` : 'spec.securityContext'),
      ]
    return [
      ...(runAsNonRoot === true ? [] : [nonRootRefusal(path)]),
      ...(runAsUser === undefined ? [userRefusal(path)] : []),
    ]
  })
}

function rootRefusal(securityContext: string): Refusal {
  return {
    field: `${securityContext}.runAsUser`,
    problem: 'the user is root, but the Gateway requires hardening: strict',
    change: 'choose a uid above 0',
  }
}

function nonRootRefusal(path: string): Refusal {
  return {
    field: `${path}.securityContext.runAsNonRoot`,
    problem: 'the value is not true, but the Gateway requires hardening: strict',
    change: 'set runAsNonRoot to true here or in spec.securityContext',
  }
}

function userRefusal(path: string): Refusal {
  return {
    field: `${path}.securityContext.runAsUser`,
    problem:
      'no user is set here, so the image chooses it, and the traffic of an image that runs as the user of the proxy is not captured; hardening: strict of the Gateway demands a number',
    change: 'set runAsUser to a number above 0 here or in spec.securityContext',
  }
}
