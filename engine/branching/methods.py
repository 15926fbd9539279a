"""How a branch was done, in sentences for a paper."""

from tidepool.engine.branching.origin import Origin
from tidepool.engine.results.method_words import KindMethods, counted, ended, quoted


def methods(origin: Origin) -> KindMethods:
    talks = counted(len(origin.conversations), "conversation")
    design = [
        f"This batch continued {talks} of batch {origin.batch_id} from message {origin.at} on; what had been said before was taken "
        f"over word for word, and in {counted(origin.times, 'redraw')} of each conversation the message was drawn again from the "
        "same model with new seeds."
    ]
    if origin.say is not None:
        design.append(ended(f"In as many redraws the message was not drawn but assigned: {quoted(origin.say)}"))
    return KindMethods(design, analysis=_analysis(origin))


def _analysis(origin: Origin) -> list[str]:
    if origin.say is None:
        return ["Shares and means are over conversations, each counted by the mean of its redraws."]
    if len(origin.conversations) == 1:
        return [
            "The two groups of redraws of this one conversation were compared; the interval is over redraws and holds for this "
            "conversation alone."
        ]
    return [
        "The effect is the mean over conversations of the difference between the mean of the altered and the mean of the control "
        "redraws, with Student's interval and test over conversations, or over games where memory or kept secrets link them."
    ]
