/** A definition with the names of agent-sandbox and without its schema. */
function definition(group: string, plural: string, kind: string) {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      // Required for groups of the Kubernetes project.
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        { name: 'v1alpha1', served: true, storage: false, schema },
        { name: 'v1beta1', served: true, storage: true, schema },
      ],
    },
  }
}

export const CLAIM_DEFINITION = definition('extensions.agents.x-k8s.io', 'sandboxclaims', 'SandboxClaim')
export const SANDBOX_DEFINITION = definition('agents.x-k8s.io', 'sandboxes', 'Sandbox')
export const TEMPLATE_DEFINITION = definition(
  'extensions.agents.x-k8s.io',
  'sandboxtemplates',
  'SandboxTemplate',
)
