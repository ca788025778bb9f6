import { CONTAINERS, POD_PORTS, VOLUMES } from '../../core/capture/pod-contract.ts'
import { ALLOWED_CAPABILITIES } from '../../core/inject/refusals/refuse-container.ts'
import { SELINUX_TYPES } from '../../core/inject/refusals/refuse-security.ts'
import { demand, security, text, texts, type Validation } from './expressions.ts'

const RESERVED = texts(Object.values(CONTAINERS))
const RESERVED_VOLUMES = texts(Object.values(VOLUMES).map(({ name }) => name))
const PORTS = `[${Object.values(POD_PORTS).join(', ')}]`

/**
 * Returns the rules for containers of agents: the rules of PodSecurity `restricted`, except that root is allowed, and
 * the rules that protect the traffic capture. `list` is a CEL list of containers, `uid` a CEL expression for the uid of
 * the proxy.
 */
export function containerRules(list: string, path: string, uid: string): readonly Validation[] {
  const each = (condition: string, message: string) =>
    demand(`${list}.all(c, ${condition})`, `${path}[*]${message}`)
  return [
    each(`!(c.name in ${RESERVED})`, '.name: is reserved for an injected container; rename the container'),
    each(
      `!${security('c', 'privileged', 'false')}`,
      '.securityContext.privileged: a privileged container can undo the capture; set it to false',
    ),
    each(
      `${security('c', 'allowPrivilegeEscalation', 'true')} == false`,
      '.securityContext.allowPrivilegeEscalation: must be false',
    ),
    each(
      `c.?securityContext.?capabilities.?drop.orValue([]).exists(d, d == 'ALL')`,
      '.securityContext.capabilities.drop: must be [ALL]',
    ),
    each(
      `c.?securityContext.?capabilities.?add.orValue([]).all(a, a in ${texts(ALLOWED_CAPABILITIES)})`,
      `.securityContext.capabilities.add: only ${ALLOWED_CAPABILITIES.join(', ')} may be added`,
    ),
    each(
      `${security('c', 'procMount', "'Default'")} == 'Default'`,
      '.securityContext.procMount: must be Default',
    ),
    each(
      `${security('c', 'runAsUser', '-1')} != ${uid}`,
      '.securityContext.runAsUser: is the user of the proxy, whose traffic is not captured; choose another uid',
    ),
    ...confinement(each),
    ...reach(each),
  ]
}

type Each = (condition: string, message: string) => Validation

function confinement(each: Each): readonly Validation[] {
  const profile = (name: string) => `c.?securityContext.?${name}.?type.orValue('')`
  const linux = 'c.?securityContext.?seLinuxOptions'
  return [
    each(
      `${profile('seccompProfile')} in ['', 'RuntimeDefault', 'Localhost']`,
      '.securityContext.seccompProfile.type: must be RuntimeDefault or Localhost',
    ),
    each(
      `${profile('appArmorProfile')} in ['', 'RuntimeDefault', 'Localhost']`,
      '.securityContext.appArmorProfile.type: must be RuntimeDefault or Localhost',
    ),
    each(
      `${linux}.?type.orValue('') in ${texts(SELINUX_TYPES)} && ${linux}.?user.orValue('') == '' && ${linux}.?role.orValue('') == ''`,
      '.securityContext.seLinuxOptions: must not set a custom type, user or role',
    ),
    each(
      '!c.?securityContext.?windowsOptions.?hostProcess.orValue(false)',
      '.securityContext.windowsOptions.hostProcess: runs outside the pod; remove it',
    ),
  ]
}

function reach(each: Each): readonly Validation[] {
  const { trust } = VOLUMES
  const isTrust = `(m.name == ${text(trust.name)} && m.?readOnly.orValue(false) && m.mountPath == ${text(trust.path)})`
  const elsewhere = [
    'startupProbe',
    'readinessProbe',
    'livenessProbe',
    'lifecycle.?postStart',
    'lifecycle.?preStop',
  ]
    .flatMap((action) => [
      `c.?${action}.?httpGet.?host.orValue('')`,
      `c.?${action}.?tcpSocket.?host.orValue('')`,
    ])
    .join(', ')
  return [
    each(
      `c.?volumeMounts.orValue([]).all(m, ${isTrust} || !(m.name in ${RESERVED_VOLUMES}))`,
      '.volumeMounts: the volume is reserved for the proxy; remove the mount',
    ),
    each(
      `c.?volumeMounts.orValue([]).all(m, ${isTrust} || !(${text(`${trust.path}/`)}.startsWith(m.mountPath.endsWith('/') ? m.mountPath : m.mountPath + '/') || m.mountPath.startsWith(${text(`${trust.path}/`)})))`,
      `.volumeMounts: the mount would hide ${trust.path}; use another path`,
    ),
    each(
      `c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0 && !(p.containerPort in ${PORTS}))`,
      '.ports: must not use a port of the node or of the proxy',
    ),
    each(
      `[${elsewhere}].all(h, h == '')`,
      ': a probe or hook makes the node send a request to another address; remove the field host',
    ),
  ]
}
