import {
  ANNOTATIONS,
  CONTAINERS,
  INBOUND_LABEL,
  INJECT_LABEL,
  LAYER_LABEL,
  PROXY_ENV,
  TOKEN_AUDIENCE,
  VOLUMES,
} from '../../core/capture/pod-contract.ts'
import { PROXIED_LAYERS } from '../../core/inject/interception.ts'
import { ALLOWED_SYSCTLS, ALLOWED_VOLUMES } from '../../core/inject/refusals/refuse-pod.ts'
import { SELINUX_TYPES } from '../../core/inject/refusals/refuse-security.ts'
import { containerRules } from './container-rules.ts'
import { demand, metadataOf, text, texts, type Validation, type Variable } from './expressions.ts'
import type { GuardOptions } from './guard-options.ts'
import { sidecarRules } from './sidecar-rules.ts'

/** CEL variables of the rules about new pods. */
export const POD_VARIABLES: readonly Variable[] = [
  { name: 'named', expression: metadataOf('object', 'annotations', ANNOTATIONS.gateway) },
  {
    name: 'governed',
    expression: `variables.named != '' || ${metadataOf('object', 'labels', INJECT_LABEL)} == 'injected' || namespaceObject.metadata.?labels[?${text(INJECT_LABEL)}].orValue('') == 'required'`,
  },
  {
    name: 'captured',
    expression: `!(${metadataOf('object', 'labels', LAYER_LABEL)} in ${texts(PROXIED_LAYERS)})`,
  },
  { name: 'inits', expression: 'object.spec.?initContainers.orValue([])' },
  {
    name: 'hasShape',
    expression: `variables.captured ? (size(variables.inits) > 1 && variables.inits[0].name == ${text(CONTAINERS.rules)} && variables.inits[1].name == ${text(CONTAINERS.proxy)}) : (size(variables.inits) > 0 && variables.inits[0].name == ${text(CONTAINERS.proxy)})`,
  },
  { name: 'rules', expression: 'variables.inits[0]' },
  { name: 'proxy', expression: 'variables.inits[variables.captured ? 1 : 0]' },
  { name: 'uid', expression: 'variables.proxy.?securityContext.?runAsUser.orValue(-1)' },
  {
    name: 'gateway',
    expression: `variables.proxy.?env.orValue([]).filter(e, e.name == ${text(PROXY_ENV.gateway)}).map(e, e.?value.orValue('')).join('')`,
  },
  { name: 'volumes', expression: 'object.spec.?volumes.orValue([])' },
  { name: 'users', expression: 'object.spec.containers' },
  {
    name: 'userInits',
    expression: `variables.inits.filter(c, !(c.name in ${texts(Object.values(CONTAINERS))}))`,
  },
]

/** Returns all rules about a pod that is being created. The API server shows the message of the first violated rule. */
export function podRules(options: GuardOptions): readonly Validation[] {
  const governed = ({ expression, message }: Validation) =>
    demand(`!variables.governed || !variables.hasShape || (${expression})`, message)
  return [
    ...sidecarRules(options).map((rule, at) => (at === 0 ? rule : governed(rule))),
    ...[
      ...hostRules(),
      ...confinementRules(),
      ...volumeKinds(),
      ...containerRules('variables.users', 'spec.containers', 'variables.uid'),
      ...containerRules('variables.userInits', 'spec.initContainers', 'variables.uid'),
      once(CONTAINERS.proxy),
      nonRoot(options),
      inbound(options),
      ...seccomp(options),
    ].map(governed),
    foreignToken(),
  ]
}

function hostRules(): readonly Validation[] {
  const switches = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace']
  return [
    ...switches.map((name) =>
      demand(
        `!object.spec.?${name}.orValue(false)`,
        `spec.${name}: a governed pod must not share namespaces of the node; remove the field`,
      ),
    ),
    demand(`object.spec.?os.?name.orValue('linux') == 'linux'`, 'spec.os.name: only Linux can be captured'),
  ]
}

function confinementRules(): readonly Validation[] {
  const at = 'object.spec.?securityContext'
  const linux = `${at}.?seLinuxOptions`
  return [
    demand(
      `${at}.?runAsUser.orValue(-1) != variables.uid`,
      'spec.securityContext.runAsUser: is the user of the proxy; choose another uid',
    ),
    demand(
      `${at}.?seccompProfile.?type.orValue('') in ['RuntimeDefault', 'Localhost'] || (variables.users + variables.userInits).all(c, c.?securityContext.?seccompProfile.?type.orValue('') in ['RuntimeDefault', 'Localhost'])`,
      'spec.securityContext.seccompProfile.type: must be RuntimeDefault or Localhost',
    ),
    demand(
      `${at}.?seccompProfile.?type.orValue('') != 'Unconfined' && ${at}.?appArmorProfile.?type.orValue('') != 'Unconfined'`,
      'spec.securityContext: no profile may be Unconfined',
    ),
    demand(
      `${linux}.?type.orValue('') in ${texts(SELINUX_TYPES)} && ${linux}.?user.orValue('') == '' && ${linux}.?role.orValue('') == ''`,
      'spec.securityContext.seLinuxOptions: must not set a custom type, user or role',
    ),
    demand(
      `!${at}.?windowsOptions.?hostProcess.orValue(false)`,
      'spec.securityContext.windowsOptions.hostProcess: runs outside the pod; remove it',
    ),
    demand(
      `${at}.?sysctls.orValue([]).all(s, s.name in ${texts(ALLOWED_SYSCTLS)})`,
      'spec.securityContext.sysctls: only the safe sysctls of the Pod Security Standard baseline are allowed; remove the others',
    ),
    demand(
      `object.metadata.?annotations.orValue({}).all(k, !k.startsWith('container.apparmor.security.beta.kubernetes.io/') || object.metadata.annotations[k] != 'unconfined')`,
      'metadata.annotations: no AppArmor profile may be unconfined',
    ),
  ]
}

function volumeKinds(): readonly Validation[] {
  const kinds = ALLOWED_VOLUMES.map((kind) => `has(v.${kind})`).join(' || ')
  return [
    demand(
      `variables.volumes.all(v, ${kinds})`,
      `spec.volumes: only ${ALLOWED_VOLUMES.join(', ')} are allowed; other volumes give access to resources outside the pod`,
    ),
  ]
}

/** Returns the rule that demands exactly one container of this name, because a second one could be another proxy. */
function once(name: string): Validation {
  return demand(
    `variables.inits.filter(c, c.name == ${text(name)}).size() == 1`,
    `spec.initContainers: ${name} must occur exactly once`,
  )
}

function nonRoot({ strictGateways }: GuardOptions): Validation {
  const inherited = 'object.spec.?securityContext'
  return demand(
    `!(variables.gateway in ${texts(strictGateways)}) || (variables.users + variables.userInits).all(c, c.?securityContext.?runAsNonRoot.orValue(${inherited}.?runAsNonRoot.orValue(false)) && c.?securityContext.?runAsUser.orValue(${inherited}.?runAsUser.orValue(0)) > 0)`,
    'spec.containers[*].securityContext.runAsNonRoot: must be true, with a number above 0 as runAsUser, because the Gateway requires hardening: strict',
  )
}

function inbound({ inboundDenied }: GuardOptions): Validation {
  return demand(
    `!(variables.gateway in ${texts(inboundDenied)}) || ${metadataOf('object', 'labels', INBOUND_LABEL)} == 'deny'`,
    `metadata.labels[${INBOUND_LABEL}]: must be deny, because the Gateway has inbound: deny; the injector sets it, and another webhook must not remove it`,
  )
}

/**
 * Returns a rule for every Gateway that demands a seccomp profile: the pod must have the profile, and no container may
 * have another.
 */
function seccomp({ seccompProfiles }: GuardOptions): readonly Validation[] {
  return seccompProfiles.map(([gateway, profile]) => {
    const wanted = (at: string) =>
      `${at}.?type.orValue('') == 'Localhost' && ${at}.?localhostProfile.orValue('') == ${text(profile)}`
    const own = 'c.?securityContext.?seccompProfile'
    return demand(
      `variables.gateway != ${text(gateway)} || (${wanted('object.spec.?securityContext.?seccompProfile')} && (variables.users + variables.userInits).all(c, !${own}.hasValue() || (${wanted(own)})))`,
      `spec.securityContext.seccompProfile: the Gateway demands the profile ${profile}; remove the field, so that the injector sets it`,
    )
  })
}

/**
 * Returns the rule that refuses volumes with the token of the proxy. The rule applies to ungoverned pods too: with this
 * token a pod could impersonate the proxy of a governed pod.
 */
function foreignToken(): Validation {
  return demand(
    `variables.volumes.all(v, (variables.governed && v.name == ${text(VOLUMES.token.name)}) || !has(v.projected) || v.projected.?sources.orValue([]).all(s, s.?serviceAccountToken.?audience.orValue('') != ${text(TOKEN_AUDIENCE)}))`,
    `spec.volumes: a token with the audience ${TOKEN_AUDIENCE} is reserved for the proxy of a governed pod`,
  )
}
