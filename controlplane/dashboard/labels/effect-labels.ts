import type { EffectClass } from '../../../core/action/effect-class.ts'

// Generated from core/action/effect-class.ts by `npm run generate`.

/** The meaning of each effect class. */
export const EFFECT_LABELS: Readonly<Record<EffectClass, string>> = {
  merge: 'A change reaches a shared branch.',
  rewrite_history: 'Published commits or files can be lost or replaced.',
  publish: 'Content becomes accessible to users who had no access to it.',
  code_execution: 'Programs run, or the request chooses which programs run.',
  money_out: 'Money or credit leaves the account, or a spending limit changes.',
  delegate: 'Another agent gets a task, an answer or an instruction.',
  egress: 'Data is sent to, or fetched from, an address that the request names.',
  credential_out: 'The response contains a secret.',
  visibility: 'The visibility or the security scanning of a resource changes.',
  access_grant: 'A user, key or program gains rights, or a rule that limits them is relaxed.',
  delete: 'Stored data is deleted.',
}
