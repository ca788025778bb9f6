import {
  ANNOTATIONS,
  CONTAINERS,
  GVISOR_RULE_SETTER,
  POD_PORTS,
  PROXY_ENV,
  PROXY_UIDS,
  RULE_SETTER,
  RULE_SETTER_UID,
  RUNTIME_ENV,
  TOKEN_AUDIENCE,
  VOLUMES,
} from '../../core/capture/pod-contract.ts'
import { API_TOKEN_PATH } from '../../core/inject/harden.ts'
import { demand, metadataOf, security, text, texts, type Validation } from './expressions.ts'
import type { GuardOptions } from './guard-options.ts'

const { rules: RULES, proxy: PROXY } = CONTAINERS
/**
 * Allowed environment variables of the proxy. Other variables could load foreign code or trust foreign certificates.
 */
const PROXY_VARIABLES = texts([
  ...Object.values(PROXY_ENV),
  'DATA_DIR',
  'JOURNAL_MAX_BYTES',
  'LOG_LEVEL',
  ...Object.keys(RUNTIME_ENV),
])

/** Returns the rules for the injected containers. The rules use the CEL variables of `pod-rules.ts`. */
export function sidecarRules(options: GuardOptions): readonly Validation[] {
  const governed = (expression: string, message: string) =>
    demand(`!variables.governed || (${expression})`, message)
  return [
    governed(
      'variables.hasShape',
      `spec.initContainers: a governed pod starts ${RULES}, then ${PROXY}, before all other containers. The injector ` +
        'adds these containers, but it was not called, or another webhook moved them',
    ),
    governed(
      `variables.captured || variables.gateway in ${texts(options.cooperativeGateways)} || (variables.gateway in ${texts(options.autoGateways)} && object.spec.?runtimeClassName.orValue('') in ${texts(options.gvisorRuntimeClasses)})`,
      'metadata.labels[chaperone.dev/layer]: the pod would start without capture rules, which only a Gateway with interception: proxyEnv allows; remove the label, so that the injector sets it',
    ),
    ...ruleSetterRules(options).map((each) =>
      governed(`!variables.captured || (${each.expression})`, each.message),
    ),
    ...proxyRules(options).map((each) => governed(each.expression, each.message)),
    ...volumeRules().map((each) => governed(each.expression, each.message)),
  ]
}

function ruleSetterRules({ ruleImages, gvisorRuntimeClasses }: GuardOptions): readonly Validation[] {
  const { program, file, uidDefine } = RULE_SETTER
  const gvisor = GVISOR_RULE_SETTER
  const command = `[${text(program)}, '-D', ${text(`${uidDefine}=`)} + string(variables.uid), '-f', ${text(file)}]`
  const gvisorCommand = `[${text(gvisor.shell)}, ${text(gvisor.file)}, string(variables.uid)]`
  const at = 'variables.rules'
  const isGvisor = `(object.spec.?runtimeClassName.orValue('') in ${texts(gvisorRuntimeClasses)} && ${at}.?command.orValue([]) == ${gvisorCommand})`
  const isPlain = `${at}.?args.orValue([]) == [] && !has(${at}.lifecycle) && !has(${at}.envFrom)`
  const added = `${at}.securityContext.capabilities.?add.orValue([])`
  return [
    demand(
      `${at}.image in ${texts(ruleImages)}`,
      `${RULES}.image: must be the image of this installation; remove it, so that the injector sets it`,
    ),
    demand(
      `(${at}.?command.orValue([]) == ${command} || ${isGvisor}) && ${isPlain}`,
      `${RULES}.command: must be the command of this installation, which only applies the capture rules for the user of the proxy; remove it, so that the injector sets it`,
    ),
    demand(
      `${confined(at)} && (${isGvisor} ? (${security(at, 'runAsUser', '-1')} == ${gvisor.uid} && ${added} == ${texts(gvisor.capabilities)}) : (${security(at, 'runAsUser', '-1')} == ${RULE_SETTER_UID} && ${added} == ['NET_ADMIN']))`,
      `${RULES}.securityContext: must be uid ${RULE_SETTER_UID} with NET_ADMIN and nothing else, or with a RuntimeClass of gVisor uid ${gvisor.uid} with ${gvisor.capabilities.join(' and ')}`,
    ),
    demand(
      `!${isGvisor} || (${at}.?env.orValue([]) == [] && ${at}.?volumeMounts.orValue([]).all(m, m.mountPath == ${text(API_TOKEN_PATH)}))`,
      `${RULES}: in a pod with a RuntimeClass of gVisor this container runs as root, so it must have no environment variables and no volumes; remove them`,
    ),
    demand(
      `${isGvisor} == ${PROXY_HAS_CLOSED_IPV6}`,
      `${PROXY}.env[${PROXY_ENV.ipv6Closed}]: must be set exactly in pods with a RuntimeClass of gVisor, whose capture rules drop IPv6; only the injector sets it`,
    ),
  ]
}

const PROXY_HAS_CLOSED_IPV6 = `variables.proxy.?env.orValue([]).exists(e, e.name == ${text(PROXY_ENV.ipv6Closed)})`

function proxyRules({
  proxyImages,
  proxyCommand,
  controlPlaneUrl,
  controlPlaneAddresses,
  dns,
  searchDomains,
}: GuardOptions): readonly Validation[] {
  const at = 'variables.proxy'
  return [
    demand(
      `${at}.image in ${texts(proxyImages)}`,
      `${PROXY}.image: must be the image of this installation; remove it, so that the injector sets it`,
    ),
    demand(
      `${at}.?command.orValue([]) == ${texts(proxyCommand)} && ${at}.?args.orValue([]) == [] && !has(${at}.lifecycle) && !has(${at}.envFrom)`,
      `${PROXY}.command: must be the command of this installation, without args, lifecycle hooks and envFrom`,
    ),
    demand(
      `${at}.?restartPolicy.orValue('') == 'Always' && has(${at}.startupProbe)`,
      `${PROXY}.restartPolicy: must be Always, with a startupProbe that delays the agent until the proxy is ready`,
    ),
    demand(
      PROBES.map((each) => `(!has(${at}.${each}) || ${isHealthProbe(`${at}.${each}`)})`).join(' && '),
      `${PROXY}.${PROBES.join(', ')}: must be GET requests to port ${POD_PORTS.health}, because another probe could run a program as the user of the proxy`,
    ),
    demand(
      `variables.uid >= ${PROXY_UIDS.first} && variables.uid <= ${PROXY_UIDS.last} && string(variables.uid) == ${metadataOf('object', 'annotations', ANNOTATIONS.proxyUid)}`,
      `${PROXY}.securityContext.runAsUser: must be the uid in the annotation ${ANNOTATIONS.proxyUid}`,
    ),
    demand(
      `${confined(at)} && ${at}.securityContext.capabilities.?add.orValue([]) == []`,
      `${PROXY}.securityContext: must drop ALL capabilities and add none`,
    ),
    demand(
      `${at}.?env.orValue([]).all(e, e.name in ${PROXY_VARIABLES}) && ${hasVariable(at, PROXY_ENV.controlPlaneUrl, controlPlaneUrl)} && ${at}.env.all(e, e.name != 'NODE_OPTIONS' || e.?value.orValue('') == '')`,
      `${PROXY}.env: must contain the address of the control plane of this installation, and only variables that the injector sets`,
    ),
    demand(
      `${at}.?env.orValue([]).all(e, e.name != ${text(PROXY_ENV.controlPlaneAddress)} || e.?value.orValue('') in ${texts(controlPlaneAddresses)})`,
      `${PROXY}.env[${PROXY_ENV.controlPlaneAddress}]: must be the address of the control plane of this installation, or absent`,
    ),
    demand(
      `${hasVariable(at, PROXY_ENV.dnsResolvers, dns.resolvers.join(','))} && ${hasVariable(at, PROXY_ENV.clusterDomain, dns.clusterDomain)}`,
      `${PROXY}.env[${PROXY_ENV.dnsResolvers}]: must name the DNS servers and the cluster domain of this installation`,
    ),
    demand(
      `${at}.?env.orValue([]).filter(e, e.name == ${text(PROXY_ENV.searchDomains)}).all(e, e.?value.orValue('') in ${texts(searchDomains)})`,
      `${PROXY}.env[${PROXY_ENV.searchDomains}]: must be the search domains of the nodes of this installation, or absent`,
    ),
    demand(
      `variables.gateway != '' && (${gatewayAnnotation('/')} ? variables.gateway == variables.named : variables.gateway == request.namespace + '/' + variables.named)`,
      `${PROXY}.env[${PROXY_ENV.gateway}]: must be the Gateway in the annotation ${ANNOTATIONS.gateway}`,
    ),
  ]
}

/** Returns the CEL condition that the container has exactly one variable of this name, with this value. */
function hasVariable(at: string, name: string, value: string): string {
  const named = `${at}.?env.orValue([]).filter(e, e.name == ${text(name)})`
  return `${named}.map(e, e.?value.orValue('')) == [${text(value)}]`
}

/**
 * Probes of the proxy. A probe that exists must be a GET request. Sidecars of earlier versions have no liveness probe.
 */
const PROBES = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const

function isHealthProbe(probe: string): string {
  return [
    `has(${probe}.httpGet)`,
    `${probe}.httpGet.port == ${POD_PORTS.health}`,
    `${probe}.httpGet.?host.orValue('') == ''`,
  ].join(' && ')
}

function gatewayAnnotation(part: string): string {
  return `variables.named.contains(${text(part)})`
}

function confined(at: string): string {
  return [
    `!${security(at, 'privileged', 'false')}`,
    `${security(at, 'allowPrivilegeEscalation', 'true')} == false`,
    `${security(at, 'readOnlyRootFilesystem', 'false')}`,
    `${at}.?securityContext.?seccompProfile.?type.orValue('') == 'RuntimeDefault'`,
    `${at}.?securityContext.?capabilities.?drop.orValue([]) == ['ALL']`,
  ].join(' && ')
}

function volumeRules(): readonly Validation[] {
  const { token, admin, data, trust } = VOLUMES
  const memory = [admin, data, trust].map(({ name }) => name)
  const source = 'v.projected.sources'
  return [
    demand(
      `variables.volumes.filter(v, v.name in ${texts(memory)} && has(v.emptyDir)).size() == ${memory.length}`,
      `spec.volumes: ${memory.join(', ')} must be emptyDir volumes`,
    ),
    demand(
      `variables.volumes.exists(v, v.name == ${text(token.name)} && has(v.projected) && size(${source}) == 1 && ${source}[0].?serviceAccountToken.?audience.orValue('') == ${text(TOKEN_AUDIENCE)})`,
      `spec.volumes[${token.name}]: must be the projected token with the audience ${TOKEN_AUDIENCE}, by which the proxy authenticates`,
    ),
  ]
}
