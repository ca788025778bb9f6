import type { WorkTable } from './table.ts'

/**
 * Work that llm_c continues after its response, with the cancelling operations. A trigger is paused instead of
 * cancelled. Source: types of `@google/genai` 2.18.0 (googleapis/js-genai), read 2026-11-28.
 */
export const LLM_C_WORK: WorkTable = {
  connector: 'llm_c',
  kinds: `
    interaction  POST  interactions|triggers  interactions/{id}/cancel
    trigger      PATCH  triggers       triggers/{id}
    tuning       POST  tunedModels    tunedModels/{tuned_model}/operations/{id}:cancel
    batch        POST  models|batches  batches/{id}:cancel
    prediction   -
  `,
  starts: `
    interaction.create         interaction  hosted_agent.run  id=id
    interaction.create_stream  interaction  hosted_agent.run  id=interaction.id
    trigger.create             trigger      -                 id=id
    trigger.update             trigger      -                 id=segment:triggers
    trigger_execution.create   interaction  -                 id=interaction_id
    tuned_model.create         tuning       -                 id=name  tuned_model=metadata.tunedModel
    prediction.start           prediction   -                 id=name
    batch.create               batch        -                 id=name
    batch.create_embeddings    batch        -                 id=name
  `,
  ends: `
    interaction.cancel  interaction
    interaction.delete  interaction
    interaction.get     interaction  completed,failed,cancelled,incomplete
    trigger.delete      trigger
    tuned_model_operation.cancel  tuning
    batch.cancel        batch
    batch.delete        batch
  `,
  batches: ['batch'],
  bodies: { trigger: { status: 'paused' } },
  headers: ['x-goog-user-project', 'api-revision'],
}
