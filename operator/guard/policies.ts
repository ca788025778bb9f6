import { CONTAINERS, PROXY_ENV, TOKEN_AUDIENCE, VOLUMES } from '../../core/capture/pod-contract.ts'
import { NOT_SYSTEM, outside } from '../webhook/configuration.ts'
import { HAD_PROXY, podChanges } from './change-policy.ts'
import { containerRules } from './container-rules.ts'
import { demand, type Policy, text, texts } from './expressions.ts'
import { grantPermissions } from './grant-policy.ts'
import type { GuardOptions } from './guard-options.ts'
import { POD_VARIABLES, podRules } from './pod-rules.ts'
import { sandboxMetadata } from './sandbox-policy.ts'

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

/**
 * Name of the admission policy about new pods. An annotation of the policy records the images, the addresses of the
 * control plane and the search domains that the policy accepts.
 */
export const PODS_POLICY = 'chaperone-pods'
export const IMAGES_ANNOTATION = 'chaperone.dev/images'

const OURS = texts(Object.values(CONTAINERS))

/**
 * Returns the ValidatingAdmissionPolicies and their bindings. The API server evaluates them after all webhooks, so they
 * apply even without the injector's webhook.
 */
export function guardObjects(options: GuardOptions): readonly GuardObject[] {
  const ofPods = [newPods(options), podChanges(), debugging(options), access(), bindings()]
  const policies = [...ofPods, sandboxMetadata(), tokens(), trustBundle(options), grantPermissions(options)]
  return policies.flatMap((policy) => [policyObject(policy), bindingObject(policy, options)])
}

function newPods(options: GuardOptions): Policy {
  return {
    name: PODS_POLICY,
    annotations: {
      [IMAGES_ANNOTATION]: JSON.stringify({
        proxy: options.proxyImages,
        rules: options.ruleImages,
        addresses: options.controlPlaneAddresses,
        searchDomains: options.searchDomains,
      }),
    },
    rule: { operations: ['CREATE'], resources: ['pods'] },
    conditions: [],
    variables: POD_VARIABLES,
    validations: podRules(options),
  }
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
        'spec.ephemeralContainers[*].securityContext.runAsUser: must be a number above 0, because the Gateway requires hardening: strict; set it with kubectl debug --custom',
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

/**
 * Returns the admission policy about bindings of pods to nodes. The API server copies metadata of a binding to its pod.
 */
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
        'metadata: a Binding must not have labels or annotations of chaperone.dev, because Kubernetes copies them to the pod; remove them',
      ),
    ],
  }
}

/**
 * Returns the admission policy about tokens with the sidecar's audience. Only the kubelet, which mounts tokens into
 * pods, may request them.
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
 * Returns the admission policy about the trust bundle, a ConfigMap that decides which certificates sidecars accept from
 * the control plane.
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
