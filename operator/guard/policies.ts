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
import { AMBIENT_LABEL } from '../../core/inject/mesh.ts'
import { NOT_SYSTEM, outside } from '../webhook/configuration.ts'
import { containerRules } from './container-rules.ts'
import { demand, metadataOf, text, texts, type Validation, type Variable } from './expressions.ts'
import type { GuardOptions } from './guard-options.ts'
import { POD_VARIABLES, podRules } from './pod-rules.ts'

export type GuardObject = {
  readonly apiVersion: 'admissionregistration.k8s.io/v1'
  readonly kind: 'ValidatingAdmissionPolicy' | 'ValidatingAdmissionPolicyBinding'
  readonly metadata: {
    readonly name: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: object
}

/** Name of the policy about new pods. An annotation of the policy records the accepted images. */
export const PODS_POLICY = 'chaperone-pods'
export const IMAGES_ANNOTATION = 'chaperone.dev/images'

type Policy = {
  readonly name: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly rule: { readonly operations: readonly string[]; readonly resources: readonly string[] }
  readonly conditions: ReadonlyArray<{ readonly name: string; readonly expression: string }>
  readonly variables?: readonly Variable[]
  readonly validations: readonly Validation[]
}

const OURS = texts(Object.values(CONTAINERS))
const NEW_PROXY = `object.spec.?initContainers.orValue([]).filter(c, c.name in ${OURS})`
const OLD_PROXY = `oldObject.spec.?initContainers.orValue([]).filter(c, c.name in ${OURS})`
/** Condition that identifies governed pods by their containers, because labels of a running pod can be removed. */
const HAD_PROXY = {
  name: 'is-governed',
  expression: `oldObject.spec.?initContainers.orValue([]).exists(c, c.name == ${text(CONTAINERS.proxy)})`,
}

/**
 * Condition for changes of governed pods, and for changes that mark a pod as injected. The operator treats a marked pod
 * as injected, so no other pod may get the mark.
 */
const IS_OR_BECOMES_GOVERNED = {
  name: 'is-or-becomes-governed',
  expression: [
    HAD_PROXY.expression,
    `${isMarked('object')} && !${isMarked('oldObject')}`,
    `${metadataOf('object', 'annotations', ANNOTATIONS.injected)} != ${metadataOf('oldObject', 'annotations', ANNOTATIONS.injected)}`,
  ].join(' || '),
}

function isMarked(object: 'object' | 'oldObject'): string {
  return `(${metadataOf(object, 'labels', INJECT_LABEL)} == 'injected')`
}

/**
 * Returns the ValidatingAdmissionPolicies and their bindings. The API server evaluates them after all webhooks, so they
 * apply even without the injector's webhook.
 */
export function guardObjects(options: GuardOptions): readonly GuardObject[] {
  const ofPods = [newPods(options), changes(), debugging(options), access(), bindings()]
  const policies = [...ofPods, tokens(), trustBundle(options)]
  return policies.flatMap((policy) => [policyObject(policy), bindingObject(policy, options)])
}

function newPods(options: GuardOptions): Policy {
  return {
    name: PODS_POLICY,
    annotations: {
      [IMAGES_ANNOTATION]: JSON.stringify({ proxy: options.proxyImages, rules: options.ruleImages }),
    },
    rule: { operations: ['CREATE'], resources: ['pods'] },
    conditions: [],
    variables: POD_VARIABLES,
    validations: podRules(options),
  }
}

/**
 * Returns the policy about changes of existing pods. Covers `pods/status`, because a write of it can change metadata
 * too.
 */
function changes(): Policy {
  const isKept = (map: 'labels' | 'annotations') => (key: string) =>
    `${metadataOf('object', map, key)} == ${metadataOf('oldObject', map, key)}`
  const kept = Object.values(ANNOTATIONS).map(isKept('annotations'))
  const labels = [INJECT_LABEL, LAYER_LABEL, INBOUND_LABEL].map(isKept('labels'))
  return {
    name: 'chaperone-pod-changes',
    rule: { operations: ['UPDATE'], resources: ['pods', 'pods/resize', 'pods/status'] },
    conditions: [IS_OR_BECOMES_GOVERNED],
    validations: [
      demand(
        `${NEW_PROXY}.map(c, c.image) == ${OLD_PROXY}.map(c, c.image)`,
        'spec.initContainers[*].image: the image of the sidecar cannot be changed; restart the workload to get the current one',
      ),
      demand(
        `${NEW_PROXY}.map(c, c.?resources) == ${OLD_PROXY}.map(c, c.?resources)`,
        'spec.initContainers[*].resources: the resources of the sidecar are set in spec.sidecar.resources of the Gateway',
      ),
      ...(['containers', 'initContainers'] as const).map(newImage),
      demand(
        [...kept, ...labels].join(' && '),
        'metadata: only the injector sets its labels and annotations, and they cannot change while the pod exists',
      ),
      demand(
        isKept('labels')(AMBIENT_LABEL),
        `metadata.labels[${AMBIENT_LABEL}]: a governed pod stays outside of the mesh while it exists, because only one proxy can capture its traffic`,
      ),
    ],
  }
}

/** Returns the rule about new images of running containers. An image chooses the user of a container without a uid. */
function newImage(list: 'containers' | 'initContainers'): Validation {
  const [now, before] = [`object.spec.?${list}.orValue([])`, `oldObject.spec.?${list}.orValue([])`]
  const hasUser =
    'c.?securityContext.?runAsUser.hasValue() || object.spec.?securityContext.?runAsUser.hasValue()'
  return demand(
    `${now}.all(c, ${before}.exists(o, o.name == c.name && o.?image.orValue('') == c.?image.orValue('')) || ${hasUser})`,
    `spec.${list}[*].image: a container without a numeric runAsUser keeps its image while its pod runs, because the image may choose the user of the proxy; set securityContext.runAsUser in the workload, or restart the pod with the new image`,
  )
}

function debugging({ strictGateways, seccompProfiles }: GuardOptions): Policy {
  const uid = `oldObject.spec.initContainers.filter(c, c.name == ${text(CONTAINERS.proxy)})[0].?securityContext.?runAsUser.orValue(-1)`
  return {
    name: 'chaperone-debugging',
    rule: { operations: ['UPDATE'], resources: ['pods/ephemeralcontainers'] },
    conditions: [HAD_PROXY],
    variables: [
      { name: 'uid', expression: uid },
      { name: 'debuggers', expression: 'object.spec.?ephemeralContainers.orValue([])' },
      {
        name: 'gateway',
        expression: `oldObject.spec.initContainers.filter(c, c.name == ${text(CONTAINERS.proxy)})[0].?env.orValue([]).filter(e, e.name == ${text(PROXY_ENV.gateway)}).map(e, e.?value.orValue('')).join('')`,
      },
    ],
    validations: [
      ...containerRules('variables.debuggers', 'spec.ephemeralContainers', 'variables.uid'),
      demand(
        `!(variables.gateway in ${texts(strictGateways)}) || variables.debuggers.all(c, c.?securityContext.?runAsUser.orValue(object.spec.?securityContext.?runAsUser.orValue(0)) > 0)`,
        'spec.ephemeralContainers[*].securityContext.runAsUser: must be a number above 0, because the Gateway requires hardening: strict; kubectl debug --custom sets it',
      ),
      demand(
        `!(variables.gateway in ${texts(seccompProfiles.map(([gateway]) => gateway))}) || variables.debuggers.all(c, !c.?securityContext.?seccompProfile.hasValue())`,
        'spec.ephemeralContainers[*].securityContext.seccompProfile: the Gateway demands the profile of the pod; remove the field',
      ),
      demand(
        `variables.debuggers.all(c, !(c.?targetContainerName.orValue('') in ${OURS}))`,
        'spec.ephemeralContainers[*].targetContainerName: must be a container of the agent, not the sidecar',
      ),
    ],
  }
}

function access(): Policy {
  return {
    name: 'chaperone-access',
    rule: { operations: ['CONNECT'], resources: ['pods/exec', 'pods/attach'] },
    conditions: [],
    validations: [
      demand(
        `!(object.?container.orValue('') in ${OURS})`,
        'container: exec and attach are not allowed for the sidecar, because it holds credentials; select a container of the agent',
      ),
    ],
  }
}

/** Returns the policy about bindings of pods to nodes. The API server copies metadata of a binding to its pod. */
function bindings(): Policy {
  const hasNone = (map: 'labels' | 'annotations') =>
    `object.metadata.?${map}.orValue({}).all(k, !k.startsWith('chaperone.dev/'))`
  return {
    name: 'chaperone-bindings',
    rule: { operations: ['CREATE'], resources: ['bindings', 'pods/binding'] },
    conditions: [],
    validations: [
      demand(
        `${hasNone('labels')} && ${hasNone('annotations')}`,
        'metadata: a binding must not set chaperone.dev/ labels or annotations of its pod; remove them',
      ),
    ],
  }
}

/**
 * Returns the policy about tokens with the sidecar's audience. Only the kubelet, which mounts tokens into pods, may
 * request them.
 */
function tokens(): Policy {
  return {
    name: 'chaperone-tokens',
    rule: { operations: ['CREATE'], resources: ['serviceaccounts/token'] },
    conditions: [
      { name: 'our-audience', expression: `${text(TOKEN_AUDIENCE)} in object.spec.?audiences.orValue([])` },
    ],
    validations: [
      demand(
        `request.userInfo.?groups.orValue([]).exists(g, g == 'system:nodes')`,
        `spec.audiences: tokens for ${TOKEN_AUDIENCE} are issued only to the kubelet, for sidecars`,
      ),
    ],
  }
}

/**
 * Returns the policy about the trust bundle, a ConfigMap that decides which certificates sidecars accept from the
 * control plane.
 */
function trustBundle({ operatorUser }: GuardOptions): Policy {
  return {
    name: 'chaperone-trust-bundle',
    rule: { operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
    conditions: [
      {
        name: 'is-trust-bundle',
        expression: `object.metadata.?name.orValue('') == ${text(VOLUMES.controlPlane.name)}`,
      },
    ],
    validations: [
      demand(
        `request.userInfo.username == ${text(operatorUser)}`,
        `metadata.name: ${VOLUMES.controlPlane.name} is reserved for the operator; choose another name`,
      ),
    ],
  }
}

function policyObject({
  name,
  annotations,
  rule,
  conditions,
  variables = [],
  validations,
}: Policy): GuardObject {
  return {
    ...head('ValidatingAdmissionPolicy', name, annotations),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        matchPolicy: 'Equivalent',
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], ...rule, scope: 'Namespaced' }],
      },
      matchConditions: [NOT_SYSTEM, ...conditions],
      variables,
      validations,
    },
  }
}

function bindingObject({ name }: Policy, { ownNamespace }: GuardOptions): GuardObject {
  return {
    ...head('ValidatingAdmissionPolicyBinding', name),
    spec: {
      policyName: name,
      validationActions: ['Deny', 'Audit'],
      matchResources: { namespaceSelector: { matchExpressions: [outside(ownNamespace)] } },
    },
  }
}

function head<K extends GuardObject['kind']>(
  kind: K,
  name: string,
  annotations?: Readonly<Record<string, string>>,
) {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1' as const,
    kind,
    metadata: {
      name,
      labels: { 'app.kubernetes.io/part-of': 'chaperone' },
      ...(annotations && { annotations }),
    },
  }
}
