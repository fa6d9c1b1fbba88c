// SPDX-License-Identifier: Apache-2.0
// Problems in a cell or a card.

export function ProblemList({ problems }: { problems: readonly string[] }) {
  if (problems.length === 0) return <span class="muted">none</span>;
  return (
    <ul class="problems">
      {problems.map((problem, index) => (
        <li key={index}>{problem}</li>
      ))}
    </ul>
  );
}
