import { NumberInput, SegmentedControl, Switch, TagsInput, Text, TextInput } from '@mantine/core'
import type { PolicyDraft } from './draft.ts'

type Props = {
  readonly draft: PolicyDraft
  readonly isReadOnly: boolean
  readonly onChange: (fields: Partial<PolicyDraft>) => void
}

const MODES = [
  { value: 'enforce', label: 'Enforce' },
  { value: 'monitor', label: 'Monitor' },
]

/** Edits the fields of the policy other than its text. */
export function PolicyFieldsForm({ draft, isReadOnly, onChange }: Props) {
  return (
    <div>
      <div className="policy-fields">
        <TextInput
          label="Name"
          value={draft.name}
          onChange={(event) => onChange({ name: event.currentTarget.value })}
          readOnly={isReadOnly}
          maxLength={253}
          required
        />
        <TextInput
          label="Description"
          value={draft.description}
          onChange={(event) => onChange({ description: event.currentTarget.value })}
          readOnly={isReadOnly}
          maxLength={2_000}
        />
        <NumberInput
          label="Priority"
          value={draft.priority}
          onChange={(value) => onChange({ priority: Number(value) || 0 })}
          readOnly={isReadOnly}
          allowDecimal={false}
          min={-1_000_000}
          max={1_000_000}
          hideControls
        />
        <TagsInput
          label="Tags"
          value={[...draft.tags]}
          onChange={(tags) => onChange({ tags })}
          readOnly={isReadOnly}
          maxTags={32}
          styles={{ inputField: { minWidth: 24, flexBasis: 24 } }}
          acceptValueOnBlur
        />
        <SegmentedControl
          className="policy-mode"
          aria-label="Mode"
          data={MODES}
          value={draft.mode}
          onChange={(mode) => onChange({ mode: mode as PolicyDraft['mode'] })}
          disabled={isReadOnly}
        />
        <Switch
          label="Enabled"
          checked={draft.enabled}
          onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
          disabled={isReadOnly}
          className="policy-enabled"
        />
      </div>
      <Text size="sm" c="dimmed" mt={4} role="status">
        {draft.enabled
          ? draft.mode === 'enforce'
            ? ''
            : 'The rules are not enforced. Traffic shows them as "would deny" and "would hold".'
          : 'A disabled policy is not evaluated.'}
      </Text>
    </div>
  )
}
