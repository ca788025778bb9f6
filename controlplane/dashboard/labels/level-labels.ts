import type { EnforcementLevel } from '../../../core/wire/gateways.ts'

export const LEVEL_LABELS: Readonly<
  Record<EnforcementLevel, { readonly title: string; readonly description: string }>
> = {
  monitor: {
    title: 'Monitor',
    description: 'Nothing is refused or held. Decisions are only recorded.',
  },
  enforce_high_risk: {
    title: 'Enforce high risk',
    description:
      'High-risk actions and actions that a policy denies are refused or held. Decisions about all others are only recorded.',
  },
  full_enforce: {
    title: 'Full enforcement',
    description: 'Every decision is enforced: actions that are not allowed are refused or held.',
  },
}
