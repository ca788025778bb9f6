/** Credential that the gateway adds to requests. The agent does not have this credential. */
export const DEMO_CREDENTIAL = 'demo-credential-the-agent-never-sees'

/** Returns the configuration of the demo: a Gateway, a Connector for the mock server, and rules. */
export function demoManifests(mockUrl: string): string {
  return `apiVersion: chaperone.dev/v1alpha1
kind: Gateway
metadata: { name: local }
spec: { enforcementLevel: full_enforce }
---
apiVersion: v1
kind: Secret
metadata: { name: codehost }
stringData: { token: ${DEMO_CREDENTIAL} }
---
apiVersion: chaperone.dev/v1alpha1
kind: Connector
metadata: { name: codehost }
spec:
  type: codehost
  credential: { secretRef: { name: codehost, key: token } }
  # Requests to api.github.com are sent to the mock server on this machine.
  upstream: { url: "${mockUrl}", allowPrivateAddresses: true, allowPlaintextCredential: true }
---
apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: demo }
spec:
  gatewayRefs: [{ name: local }]
  rules:
    - { connectorType: codehost, actionPattern: codehost.issue.create, decision: allow }
    - { connectorType: codehost, actionPattern: codehost.pr.merge, decision: require_approval }
    - connectorType: codehost
      actionPattern: codehost.branch.delete
      decision: deny
      reason: Agents must not delete branches
`
}
