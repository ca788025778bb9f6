/** The credential that the gateway adds; the agent never has it. */
export const DEMO_CREDENTIAL = 'demo-credential-the-agent-never-sees'

/** The demo's whole configuration: one Connector whose requests go to the stand-in, four rules. */
export function demoManifests(standInUrl: string): string {
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
  # Requests for api.github.com really go to the stand-in on this machine.
  upstream: { url: "${standInUrl}", allowPrivateAddresses: true, allowPlaintextCredential: true }
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
      reason: Branches are deleted by people, never by agents
`
}
