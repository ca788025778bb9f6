import {
  ANNOTATIONS,
  CONTAINERS,
  INBOUND_LABEL,
  INJECT_LABEL,
  LAYER_LABEL,
} from '../../core/capture/pod-contract.ts'
import { AMBIENT_LABEL } from '../../core/inject/mesh.ts'
import {
  demand,
  metadataOf,
  type Policy,
  text,
  texts,
  type Validation,
  type Variable,
} from './expressions.ts'

const OURS = texts(Object.values(CONTAINERS))
const NEW_PROXY = `object.spec.?initContainers.orValue([]).filter(c, c.name in ${OURS})`
const OLD_PROXY = `oldObject.spec.?initContainers.orValue([]).filter(c, c.name in ${OURS})`

/** Condition that identifies governed pods by their containers, because labels of a running pod can be removed. */
export const HAD_PROXY = {
  name: 'is-governed',
  expression: `oldObject.spec.?initContainers.orValue([]).exists(c, c.name == ${text(CONTAINERS.proxy)})`,
}

const gatewayOf = (object: 'object' | 'oldObject') => metadataOf(object, 'annotations', ANNOTATIONS.gateway)
const isMarked = (object: 'object' | 'oldObject') =>
  `(${metadataOf(object, 'labels', INJECT_LABEL)} == 'injected')`

/**
 * Condition for changes of governed pods, and for changes that make a pod look governed. A running pod must
 * not get the label or annotations of governed pods: the operator would treat the pod as injected, and users
 * would consider it governed.
 */
const IS_OR_BECOMES_GOVERNED = {
  name: 'is-or-becomes-governed',
  expression: [
    HAD_PROXY.expression,
    `${isMarked('object')} && !${isMarked('oldObject')}`,
    `${metadataOf('object', 'annotations', ANNOTATIONS.injected)} != ${metadataOf('oldObject', 'annotations', ANNOTATIONS.injected)}`,
    `${gatewayOf('object')} != '' && ${gatewayOf('object')} != ${gatewayOf('oldObject')}`,
  ].join(' || '),
}

/**
 * Annotations whose text must not change. The annotation of the Gateway is compared separately, because `NAME` and
 * `NAMESPACE/NAME` can mean the same Gateway.
 */
const KEPT_ANNOTATIONS = Object.values(ANNOTATIONS).filter((key) => key !== ANNOTATIONS.gateway)
const GATEWAY_CHANGE = changeText(`'metadata.annotations[${ANNOTATIONS.gateway}]'`, gatewayOf)

const VARIABLES: readonly Variable[] = [
  { name: 'hadProxy', expression: HAD_PROXY.expression },
  {
    name: 'isSameGateway',
    expression: `${fullName(gatewayOf('object'))} == ${fullName(gatewayOf('oldObject'))}`,
  },
  {
    name: 'changed',
    expression: `${changedKeys('annotations', KEPT_ANNOTATIONS)} + ${changedKeys('labels', [INJECT_LABEL, LAYER_LABEL, INBOUND_LABEL])} + (variables.isSameGateway || !variables.hadProxy ? [] : [${GATEWAY_CHANGE}])`,
  },
]

/**
 * Returns the admission policy about changes of existing pods. The policy covers `pods/status`, because a write of
 * `pods/status` can change metadata too.
 */
export function podChanges(): Policy {
  return {
    name: 'chaperone-pod-changes',
    rule: { operations: ['UPDATE'], resources: ['pods', 'pods/resize', 'pods/status'] },
    conditions: [IS_OR_BECOMES_GOVERNED],
    variables: VARIABLES,
    validations: [
      demand(
        `${NEW_PROXY}.map(c, c.image) == ${OLD_PROXY}.map(c, c.image)`,
        'spec.initContainers[*].image: the image of the sidecar cannot be changed; restart the workload to get the current image',
      ),
      demand(
        `${NEW_PROXY}.map(c, c.?resources) == ${OLD_PROXY}.map(c, c.?resources)`,
        'spec.initContainers[*].resources: the resources of the sidecar are set in spec.sidecar.resources of the Gateway',
      ),
      ...(['containers', 'initContainers'] as const).map(newImage),
      keptMetadata(),
      demand(
        `${metadataOf('object', 'labels', AMBIENT_LABEL)} == ${metadataOf('oldObject', 'labels', AMBIENT_LABEL)}`,
        `metadata.labels[${AMBIENT_LABEL}]: a governed pod stays outside of the mesh while it exists, because only one proxy can capture its traffic`,
      ),
      lateGateway(),
    ],
  }
}

const KEPT =
  'metadata: only the injector sets labels and annotations of chaperone.dev, and they cannot change while the pod exists'
const NEW_POD =
  'Change the pod template of the workload, Sandbox or SandboxTemplate, then delete the pod (for a Sandbox, delete the Sandbox), so that a new pod is created'

function keptMetadata(): Validation {
  return {
    ...demand('size(variables.changed) == 0', `${KEPT}. ${NEW_POD}`),
    messageExpression: `${text(`${KEPT}: `)} + variables.changed.join(', ') + ${text(`. ${NEW_POD}`)}`,
  }
}

const LATE = `metadata.annotations[${ANNOTATIONS.gateway}]: the pod has no sidecar, and only a new pod gets a sidecar`
const REPLACE =
  'Delete the pod, so that its workload creates a governed pod; for a pod of a warm pool, delete the Sandboxes that no claim has adopted'

/** Returns the rule that the Gateway annotation of a pod without a sidecar can be neither added nor changed. */
function lateGateway(): Validation {
  return {
    ...demand(
      `variables.hadProxy || ${gatewayOf('object')} == '' || ${gatewayOf('object')} == ${gatewayOf('oldObject')}`,
      `${LATE}. ${REPLACE}`,
    ),
    messageExpression: `${text(`${LATE} (`)} + ${GATEWAY_CHANGE} + ${text(`). ${REPLACE}`)}`,
  }
}

/** Returns the rule about new images of running containers. An image chooses the user of a container without a uid. */
function newImage(list: 'containers' | 'initContainers'): Validation {
  const [now, before] = [`object.spec.?${list}.orValue([])`, `oldObject.spec.?${list}.orValue([])`]
  const hasUser =
    'c.?securityContext.?runAsUser.hasValue() || object.spec.?securityContext.?runAsUser.hasValue()'
  return demand(
    `${now}.all(c, ${before}.exists(o, o.name == c.name && o.?image.orValue('') == c.?image.orValue('')) || ${hasUser})`,
    `spec.${list}[*].image: the image of a container without a numeric runAsUser cannot change while its pod runs, because the new image may choose the user of the proxy; set securityContext.runAsUser in the workload, or restart the pod with the new image`,
  )
}

/** Returns a CEL expression for the list of the changed keys, each with its old and new value. */
function changedKeys(map: 'labels' | 'annotations', keys: readonly string[]): string {
  const valueIn = (object: 'object' | 'oldObject') => `${object}.metadata.?${map}[?k].orValue('')`
  const change = changeText(`${text(`metadata.${map}[`)} + k + ']'`, valueIn)
  return `${texts(keys)}.filter(k, ${valueIn('object')} != ${valueIn('oldObject')}).map(k, ${change})`
}

function changeText(field: string, valueIn: (object: 'object' | 'oldObject') => string): string {
  return `${field} + ' from "' + ${valueIn('oldObject')} + '" to "' + ${valueIn('object')} + '"'`
}

/** Returns a CEL expression for the name of a Gateway with its namespace. */
function fullName(name: string): string {
  return `(${name} == '' || ${name}.contains('/') ? ${name} : request.namespace + '/' + ${name})`
}
