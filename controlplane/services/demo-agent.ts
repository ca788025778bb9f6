/** The built-in agent of the demo actions: no key, no credential, nobody can be it. */
export const DEMO_AGENT = {
  name: 'chaperone-demo',
  runtime: 'built-in',
  environment: 'production',
  managedBy: 'demo-action',
} as const

export function isDemoAgent(row: { readonly name: string; readonly managedBy: string | null }): boolean {
  return row.name === DEMO_AGENT.name && row.managedBy === DEMO_AGENT.managedBy
}
