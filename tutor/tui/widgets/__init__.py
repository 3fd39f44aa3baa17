"""The parts of the screen. Each is told what to show and says what the learner did; none reaches for another."""
