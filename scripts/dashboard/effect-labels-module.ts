import { EFFECT_MEANINGS } from '../../core/action/effect-class.ts'

/**
 * Generates `controlplane/dashboard/labels/effect-labels.ts` with the meaning of each effect class, because the
 * dashboard imports only types of core.
 */
export function effectLabelsModule(): string {
  const labels = Object.entries(EFFECT_MEANINGS).map(
    ([name, meaning]) => `  ${name}: '${meaning.replaceAll("'", "\\'")}',\n`,
  )
  return `import type { EffectClass } from '../../../core/action/effect-class.ts'

// Generated from core/action/effect-class.ts by \`npm run generate\`.

/** The meaning of each effect class. */
export const EFFECT_LABELS: Readonly<Record<EffectClass, string>> = {
${labels.join('')}}
`
}
