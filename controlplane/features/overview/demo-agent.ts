/** The built-in agent of the demo actions. It has no key and no credential, so no caller can authenticate as it. */
export const DEMO_AGENT = {
  name: 'chaperone-demo',
  runtime: 'built-in',
  environment: 'development',
  managedBy: 'demo-action',
} as const

export function isDemoAgent(row: { readonly source: string; readonly managedBy: string | null }): boolean {
  return row.source === 'api' && row.managedBy === DEMO_AGENT.managedBy
}
