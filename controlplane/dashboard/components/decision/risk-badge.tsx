import { Group } from '@mantine/core'
import { type Tone, ToneBadge } from '../layout/tone-badge.tsx'

/** Shows a risk score from 0 to 1 with its level and factors. */
export function RiskBadge(props: { readonly score: number; readonly factors?: readonly string[] }) {
  const { score, factors = [] } = props
  const { word, tone } = riskOf(score)
  return (
    <Group gap={6}>
      <ToneBadge tone={tone}>
        {word} risk {score.toFixed(2)}
      </ToneBadge>
      {factors.map((factor) => (
        <ToneBadge key={factor} tone="quiet">
          {factor}
        </ToneBadge>
      ))}
    </Group>
  )
}

export function riskOf(score: number): { readonly word: string; readonly tone: Tone } {
  if (score >= 0.8) return { word: 'High', tone: 'bad' }
  if (score >= 0.5) return { word: 'Medium', tone: 'wait' }
  return { word: 'Low', tone: 'good' }
}
